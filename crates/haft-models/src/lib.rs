//! Model providers: OpenAI-compatible, text dialects over any of them, scripted, demo.
