//! Environment variables that a skill or a server may not hand to a program.

/// Variables that make loaders, shells, interpreters and tools run or load other code, and the mark of a run.
const REFUSED: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "CDPATH",
    "CLASSPATH",
    "DOTNET_STARTUP_HOOKS",
    "EDITOR",
    "ENV",
    "ERL_AFLAGS",
    "ERL_FLAGS",
    "GCONV_PATH",
    "GIT_ASKPASS",
    "GIT_DIR",
    "GIT_EXEC_PATH",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
    "GLIBC_TUNABLES",
    "GROVE_RUN",
    "HOME",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "LUA_CPATH",
    "LUA_INIT",
    "LUA_PATH",
    "MAKEFLAGS",
    "MANPAGER",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OPENSSL_CONF",
    "PAGER",
    "PATH",
    "PERL5DB",
    "PERL5LIB",
    "PERL5OPT",
    "PERLLIB",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHONBREAKPOINT",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONUSERBASE",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTDOC",
    "SHELL",
    "SHELLOPTS",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "VISUAL",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

const REFUSED_STARTS: &[&str] = &[
    "BASH_FUNC_",
    "CARGO_",
    "DYLD_",
    "GIT_CONFIG",
    "LD_",
    "NPM_CONFIG_",
];

/// Returns true if a variable is refused by its name, in any case, since some readers do not tell cases apart.
pub fn is_refused(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let mut starts = REFUSED_STARTS.iter();
    let is_name = !name.is_empty() && !name.contains(['=', '\0']);
    !is_name || REFUSED.contains(&name.as_str()) || starts.any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_loads_code_is_refused_and_what_does_not_is_not() {
        for name in [
            "LD_PRELOAD",
            "ld_preload",
            "LD_LIBRARY_PATH",
            "DYLD_INSERT_LIBRARIES",
            "BASH_ENV",
            "ENV",
            "NODE_OPTIONS",
            "PYTHONPATH",
            "GIT_CONFIG_COUNT",
            "PATH",
            "HOME",
            "GROVE_RUN",
            "BASH_FUNC_ls%%",
            "npm_config_registry",
            "",
            "A=B",
            "A\0B",
        ] {
            assert!(is_refused(name), "{name}");
        }
        for name in [
            "GITHUB_TOKEN",
            "OPENAI_API_KEY",
            "ENVIRONMENT",
            "MY_PATH",
            "GITLAB_HOST",
        ] {
            assert!(!is_refused(name), "{name}");
        }
    }
}
