//! What a dialect's calls look like, as data: templates of a batch, of one call and of one parameter.
//! It must not write anything; `call` and `parameters` do.

/// How a dialect writes a batch of calls.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Before the first call; a name in it is that of the first call.
    pub(crate) open: &'static [Piece],
    /// One call.
    pub(crate) call: &'static [Piece],
    /// Between two calls.
    pub(crate) between: &'static str,
    /// Behind the last call.
    pub(crate) close: &'static str,
    /// What stands round visible text before the calls.
    pub(crate) text: (&'static str, &'static str),
    /// Where visible text may stand beside calls.
    pub(crate) place: TextPlace,
    /// What a model must be told beside an example, where it is not what the pieces say themselves.
    pub(crate) rule: Option<&'static str>,
}

/// Where visible text may stand beside calls, so that a reader finds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextPlace {
    /// Before and behind them.
    Around,
    /// Before them.
    Before,
    /// Nowhere: a message is text or calls.
    Nowhere,
}

impl Layout {
    /// The same with text before the calls alone.
    pub(crate) const fn last(mut self) -> Self {
        self.place = TextPlace::Before;
        self
    }

    /// The same with a rule of its own for models.
    pub(crate) const fn told(mut self, rule: &'static str) -> Self {
        self.rule = Some(rule);
        self
    }

    /// The same without any text beside the calls.
    pub(crate) const fn alone(mut self) -> Self {
        self.place = TextPlace::Nowhere;
        self
    }
}

/// A piece of a template.
#[derive(Debug)]
pub(crate) enum Piece {
    /// These letters.
    Text(&'static str),
    /// The configured name of the element round a call.
    Tag,
    /// The tool's name as it is.
    Name,
    /// The tool's name with XML's entities.
    NameXml,
    /// The tool's name as a JSON string.
    NameJson,
    /// The place of the call in its batch, counted from this number.
    Index(usize),
    /// An id of nine letters and digits, made of the place of the call.
    ShortId,
    /// The arguments as one JSON object.
    Arguments,
    /// The arguments as keyword arguments with Python literals.
    Keywords,
    /// The arguments as literals of Gemma, strings between this mark.
    Literals(&'static str),
    /// The arguments, each as this parameter.
    Parameters(&'static Parameter),
}

/// How a dialect writes one parameter.
#[derive(Debug)]
pub(crate) struct Parameter {
    /// Before the value.
    pub(crate) open: &'static [Part],
    /// Behind the value.
    pub(crate) close: &'static [Part],
    /// How the value stands between them.
    pub(crate) value: ValueForm,
    /// How names of parameters stand there.
    pub(crate) key: KeyForm,
    /// Marks that end a value for a reader or begin something else; no value may hold them. Case does not count.
    pub(crate) marks: &'static [&'static str],
    /// How parameters are written whose names cannot stand here.
    pub(crate) otherwise: Option<&'static Parameter>,
}

/// A piece of a parameter's template.
#[derive(Debug)]
pub(crate) enum Part {
    /// These letters.
    Text(&'static str),
    /// The parameter's name, in the form that [`Parameter::key`] says.
    Key,
    /// `true` for texts, `false` for JSON.
    IsText,
    /// The type of the value, as JSON Schema calls it.
    TypeName,
}

/// How a value stands between the marks of its parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueForm {
    /// As it is, a line break at each end being part of the marks.
    Lines,
    /// As it is; blanks at its ends are lost.
    Inline,
    /// As it is, blanks included.
    Exact,
    /// In CDATA sections.
    Cdata,
    /// Objects and lists as markup, each tag behind this mark.
    Nested(&'static str),
}

/// What a parameter's name may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// Anything without quotes, angle brackets and line breaks.
    Quoted,
    /// A name of a tag.
    Tag,
    /// Anything, with XML's entities.
    Escaped,
}
