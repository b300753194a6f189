/** Files that something else runs or obeys: a write to one of them becomes code, so they are refused unless allowed. */

/** Folders whose whole content is refused. */
const FOLDERS: ReadonlySet<string> = new Set([
  ".git", "git~1", ".hg", ".svn", ".husky", ".githooks", ".vscode", ".idea", ".devcontainer", ".circleci",
  ".claude", ".cursor", ".codex", ".gemini", ".ssh", ".gnupg", ".direnv",
]); // prettier-ignore

const FILES: ReadonlySet<string> = new Set([
  ".mcp.json", "mcp.json", "package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", ".envrc", ".gitconfig", ".gitmodules", ".netrc", ".pypirc",
  ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc",
  ".inputrc", ".vimrc", ".exrc", ".nvimrc", ".gdbinit", ".lldbinit", ".xinitrc", ".xprofile", "config.fish",
  "authorized_keys", "known_hosts", "crontab", "sudoers", ".gitlab-ci.yml", ".pre-commit-config.yaml", "lefthook.yml", "sitecustomize.py", "usercustomize.py",
]); // prettier-ignore

/** A folder that is refused only below a certain parent. */
const PAIRS: ReadonlySet<string> = new Set([
  ".github/workflows",
  ".github/actions",
  ".config/systemd",
  ".config/autostart",
  ".config/git",
  "library/launchagents",
]);

/**
 * True when the path is, or lies in, something that other programs run or obey.
 *
 * Names are compared as the least strict file systems do: without case, ignorable characters or trailing dots.
 */
export function isSensitive(segments: readonly string[]): boolean {
  let parent = "";
  for (const [index, segment] of segments.entries()) {
    const name = fold(segment);
    if (FOLDERS.has(name) || PAIRS.has(`${parent}/${name}`)) return true;
    if (index === segments.length - 1 && FILES.has(name)) return true;
    parent = name;
  }
  return false;
}

function fold(segment: string): string {
  const name = segment
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Cc}]/gu, "");
  let end = name.length;
  while (end > 0 && (name[end - 1] === "." || name[end - 1] === " ")) end--;
  return name.slice(0, end);
}
