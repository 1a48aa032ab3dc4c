//! Skills as people write them, to start mutations from.

/// Whole files.
pub(crate) const SAMPLES: &[&str] = &[
    "---\nname: pdf-forms\ndescription: Fill in PDF forms and read their fields. Use when the user \
     has a form to complete or asks what a form contains.\nlicense: MIT\n---\n\n# PDF forms\n\nRead \
     `references/fields.md` first.\n",
    "---\nname: release-notes\ndescription: >-\n  Write release notes from a commit range.\n  Use \
     after a tag, or when asked \"what changed?\".\n\n  Not for marketing copy.\nmetadata:\n  author: \
     docs team\n  version: \"1.4\"\n  tags: notes, git\n---\n## Steps\n\n1. List the commits.\n",
    "---\nname: sql-review\ndescription: |\n  Reviews SQL migrations for:\n    - locks\n    - missing \
     indexes\n  Use before a deploy.\ncompatibility: Requires psql 14+ and network access\n\
     allowed-tools: Bash(psql:*) Read Grep\n---\n\nText.\n",
    "---\nname: \"image-tools\"\ndescription: 'Resize, crop & convert images; it''s fast'\n\
     allowed-tools:\n  - Read\n  - Write\n  - Bash(convert:*)\nmetadata:\n  internal: true\n  limits:\n    \
     width: 4000\n    height: 3000\n---\n",
    "---\n# Maintained by the platform group\nname: on-call\n\ndescription: Triage alerts #1 and #2, \
     then page. # keep short\n\nlicense: Apache-2.0\n\n---\nBody --- with a rule\n\n---\n\nMore.\n",
    "---\nname: prüfung\ndescription: Prüft Rechnungen: Beträge, Steuer und Fristen\n---\nText\n",
    "---\nname: translate\ndescription: \"Übersetzt Texte \\u2013 schnell.\\nUse when: asked\"\n\
     user-invocable: false\nargument-hint: [file] [language]\nmodel: opus\n---\n$ARGUMENTS\n",
    "---\r\nname: windows-file\r\ndescription: Saved with other line ends,\r\n  and folded\r\n---\r\n\
     Text\r\n",
    "---\nname: deep\ndescription: Has nested metadata\nmetadata:\n  a:\n    b:\n      c:\n      - d: e\n        \
     f: g\n      - h\n  i: j\n---\n",
];
