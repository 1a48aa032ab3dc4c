//! The fields of an agent that can be overridden, and what each takes.

/// A field that can be overridden.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    missing_docs,
    reason = "each is the frontmatter key of the same name, but for the two that say otherwise"
)]
pub enum Field {
    Model,
    FallbackModels,
    Thinking,
    /// The text below the frontmatter.
    SystemPrompt,
    SystemPromptMode,
    InheritProjectContext,
    InheritSkills,
    DefaultContext,
    /// Whether the agent is switched off.
    Disabled,
    Skills,
    SkillInjection,
    Tools,
    CompletionGuard,
    MaxExecutionTimeMs,
    MaxTokens,
}

impl Field {
    /// All fields in the order of the reference page.
    pub const ALL: [Self; 15] = [
        Self::Model,
        Self::FallbackModels,
        Self::Thinking,
        Self::SystemPrompt,
        Self::SystemPromptMode,
        Self::InheritProjectContext,
        Self::InheritSkills,
        Self::DefaultContext,
        Self::Disabled,
        Self::Skills,
        Self::SkillInjection,
        Self::Tools,
        Self::CompletionGuard,
        Self::MaxExecutionTimeMs,
        Self::MaxTokens,
    ];

    /// The frontmatter's and pi's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::FallbackModels => "fallbackModels",
            Self::Thinking => "thinking",
            Self::SystemPrompt => "systemPrompt",
            Self::SystemPromptMode => "systemPromptMode",
            Self::InheritProjectContext => "inheritProjectContext",
            Self::InheritSkills => "inheritSkills",
            Self::DefaultContext => "defaultContext",
            Self::Disabled => "disabled",
            Self::Skills => "skills",
            Self::SkillInjection => "skillInjection",
            Self::Tools => "tools",
            Self::CompletionGuard => "completionGuard",
            Self::MaxExecutionTimeMs => "maxExecutionTimeMs",
            Self::MaxTokens => "maxTokens",
        }
    }

    /// The configuration's word for it.
    pub fn config_key(self) -> String {
        let mut key = String::new();
        for c in self.as_str().chars() {
            if c.is_ascii_uppercase() {
                key.push('_');
            }
            key.push(c.to_ascii_lowercase());
        }
        key
    }

    /// What it takes.
    pub const fn wanted(self) -> &'static str {
        match self {
            Self::Model | Self::Thinking | Self::SystemPrompt => "text or `false`",
            Self::FallbackModels | Self::Skills | Self::Tools => "a list of texts or `false`",
            Self::SystemPromptMode => "`replace`, `append` or `false`",
            Self::SkillInjection => "`full`, `light` or `false`",
            Self::DefaultContext => "`fresh`, `fork` or `false`",
            Self::InheritProjectContext
            | Self::InheritSkills
            | Self::Disabled
            | Self::CompletionGuard => "true or false",
            Self::MaxExecutionTimeMs | Self::MaxTokens => "a whole number from one or `false`",
        }
    }
}
