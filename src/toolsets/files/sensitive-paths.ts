/**
 * Sensitive files: those that hold credentials are neither read nor written; those that other programs run or obey are read but not written, because
 * writing them would run code or widen what the model may do.
 *
 * Files of the second kind take effect without being named: a program looks for them when it starts, opens a folder, installs or commits. Source
 * files, Makefiles and other files that a person chooses to run are ordinary files.
 */

/** `credentials`: neither read nor written; `obeyed`: other programs run or obey it, so it is not written. */
export type Sensitivity = "credentials" | "obeyed";

const words = (text: string): readonly string[] => text.trim().split(/\s+/u);

/** Folders whose whole content counts as credentials. */
const CREDENTIAL_FOLDERS: ReadonlySet<string> = new Set(words(".ssh .gnupg .aws .azure .password-store .kube .secrets"));

const CREDENTIAL_FILES: ReadonlySet<string> = new Set(
  words(`
  .netrc _netrc .authinfo .authinfo.gpg .pgpass pgpass.conf .my.cnf .mylogin.cnf .npmrc .pypirc .git-credentials .htpasswd .htdigest
  .vault-token .s3cfg .boto .dockercfg .terraformrc terraform.rc .rclone.conf rclone.conf .databrickscfg .snowsql.cnf
  .bash_history .zsh_history .sh_history .python_history .node_repl_history .psql_history .mysql_history .lesshst fish_history
  credentials.json secrets.json secrets.yaml secrets.yml secrets.toml
  application_default_credentials.json client_secret.json service-account.json service_account.json
  wallet.dat key4.db logins.json cookies.sqlite .dev.vars kubeconfig .kubeconfig .vault_pass .vault-pass serviceaccountkey.json
`),
);

/** Files that hold credentials only if their folder has this name. */
const CREDENTIAL_PAIRS: ReadonlySet<string> = new Set(
  words(`
  .docker/config.json .cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml .m2/settings-security.xml
  .gradle/gradle.properties .terraform.d/credentials.tfrc.json .composer/auth.json composer/auth.json gh/hosts.yml gh/hosts.yaml hub/config
  glab-cli/config.yml gcloud/credentials.db gcloud/access_tokens.db gcloud/legacy_credentials gcloud/application_default_credentials.json
  op/config .oci/config .databricks/token-cache.json .config/doctl .config/heroku .claude/.credentials.json .codex/auth.json
  .gemini/oauth_creds.json .config/op .config/sops .local/share/keyrings containers/auth.json .bundle/config .nuget/nuget.config etc/shadow etc/gshadow etc/master.passwd
`),
);

/** A private SSH key with a custom suffix: `id_ed25519_work`. */
const SSH_KEY = /^id_(?:rsa|dsa|ecdsa|ed25519)(?:[-_][a-z0-9_-]+)?$/u;

/** File name endings of private keys and key stores. */
const CREDENTIAL_ENDINGS = words(".pem .key .p12 .pfx .p8 .ppk .jks .keystore .kdbx .kdb .agekey .ovpn .env");

/** Words in names such as `.env.example`, which hold no real values. */
const TEMPLATES: ReadonlySet<string> = new Set(words("example examples sample samples template tmpl tpl dist defaults default schema"));

/** Folders whose whole content is obeyed. */
const OBEYED_FOLDERS: ReadonlySet<string> = new Set(
  words(`
  .git git~1 .hg .svn .husky .githooks .vscode .vscode-server .vscode-insiders .idea .fleet .zed .devcontainer .circleci .buildkite
  .claude .cursor .codex .gemini .windsurf .roo .cline .clinerules .continue .opencode .openhands .crush .augment .kiro .junie .amazonq .aider .goose .agents .haft
  .direnv .mise .mvn .vim .nvim .emacs.d .oh-my-zsh .bash_completion.d .yarn .cargo
`),
);

const OBEYED_FILES: ReadonlySet<string> = new Set(
  words(`
  haft.toml haft.yaml haft.yml haft.json haft.lock
  claude.md claude.local.md agents.md agents.override.md agent.md gemini.md qwen.md codex.md warp.md
  .cursorrules .windsurfrules .clinerules .roorules .goosehints .aider.conf.yml copilot-instructions.md
  .mcp.json mcp.json mcp_config.json mcp_settings.json opencode.json opencode.jsonc crush.json .crush.json .claude.json .rules
  package.json .yarnrc .yarnrc.yml .pnpmfile.cjs .pnpmfile.mjs pnpmfile.cjs pnpmfile.mjs bunfig.toml deno.json deno.jsonc
  .pnp.cjs .pnp.loader.mjs .direnvrc .mise.toml mise.toml .rtx.toml .tool-versions .gitconfig .gitmodules .hgrc .lfsconfig
  .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login
  .logout .xonshrc config.fish config.nu env.nu profile.ps1 microsoft.powershell_profile.ps1 autoexec.bat autorun.inf desktop.ini
  .inputrc .vimrc .gvimrc .ideavimrc .exrc .nvimrc .nvim.lua .emacs .dir-locals.el .spacemacs .gdbinit .lldbinit .pdbrc .irbrc .pryrc .gemrc .rspec
  .rprofile .renviron .psqlrc .sqliterc .tmux.conf tmux.conf .screenrc .wgetrc .curlrc .condarc pip.conf pip.ini uv.toml ansible.cfg .ansible.cfg
  .bazelrc .buckconfig .xinitrc .xprofile .xsession .xsessionrc .pam_environment .forward .procmailrc .muttrc .mailcap
  authorized_keys authorized_keys2 known_hosts crontab sitecustomize.py usercustomize.py
  .gitlab-ci.yml .gitlab-ci.yaml .travis.yml .drone.yml .woodpecker.yml appveyor.yml .appveyor.yml azure-pipelines.yml azure-pipelines.yaml
  bitbucket-pipelines.yml jenkinsfile cloudbuild.yaml cloudbuild.yml .pre-commit-config.yaml .pre-commit-config.yml lefthook.yml lefthook.yaml
  .lefthook.yml .lefthook.yaml .overcommit.yml .lintstagedrc .lintstagedrc.json .lintstagedrc.yml .devcontainer.json .gitpod.yml renovate.json
`),
);

/** Folders and files that are obeyed only if their folder has this name. */
const OBEYED_PAIRS: ReadonlySet<string> = new Set(
  words(`
  .github/workflows .github/actions .github/instructions .github/prompts .github/chatmodes .github/agents .github/hooks .github/dependabot.yml
  .forgejo/workflows .gitea/workflows .woodpecker/workflows .local/bin library/launchagents library/launchdaemons .gradle/init.d .gradle/init.gradle
  .ipython/profile_default .jupyter/jupyter_notebook_config.py .matplotlib/matplotlibrc etc/profile etc/environment etc/sudoers
  .config/git .config/systemd .config/autostart .config/fish .config/nushell .config/nvim .config/vim .config/emacs .config/tmux .config/kitty
  .config/alacritty .config/code .config/zed .config/pip .config/uv .config/direnv .config/mise .config/environment.d .config/opencode .config/goose
  .config/containers .config/husky .config/lefthook.yml haft/trusted.json
`),
);

const OBEYED_ENDINGS = words(".code-workspace .sublime-project .pth .desktop .mcp.json .instructions.md .chatmode.md");

const GIT_HOOKS: ReadonlySet<string> = new Set(
  words(`
  applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit pre-rebase post-checkout
  post-merge pre-push pre-receive update proc-receive post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-rewrite
  sendemail-validate fsmonitor-watchman
`),
);

/**
 * Returns the sensitivity of a path, by its own name and those of its folders; undefined for an ordinary path.
 *
 * Names are compared as the most lenient file systems do: ignoring case, ignorable characters, named streams and trailing dots.
 *
 * @param segments the names of the path; `folder` is the name of the folder around the first, if known
 */
export function sensitivityOf(segments: readonly string[], folder = ""): Sensitivity | undefined {
  let parent = foldName(folder);
  let found: Sensitivity | undefined;
  for (const [index, segment] of segments.entries()) {
    const name = foldName(segment);
    const isLast = index === segments.length - 1;
    const kind = classifyName(name, parent, isLast);
    if (kind === "credentials") return kind;
    found ??= kind;
    parent = name;
  }
  return found;
}

function classifyName(name: string, parent: string, isLast: boolean): Sensitivity | undefined {
  const pair = `${parent}/${name}`;
  if (CREDENTIAL_FOLDERS.has(name) || CREDENTIAL_PAIRS.has(pair)) return "credentials";
  if (isLast && isCredentialFile(name)) return "credentials";
  if (OBEYED_FOLDERS.has(name) || OBEYED_PAIRS.has(pair)) return "obeyed";
  return isLast && isObeyedFile(name, parent) ? "obeyed" : undefined;
}

function isCredentialFile(name: string): boolean {
  const original = withoutBackupMarks(name);
  if (SSH_KEY.test(original) || CREDENTIAL_FILES.has(original) || CREDENTIAL_ENDINGS.some((ending) => original.endsWith(ending)))
    return true;
  if (!ENVIRONMENT.test(original)) return false;
  return !original.split(/[^a-z0-9]/u).some((word) => TEMPLATES.has(word));
}

/** `.env`, `.envrc`, `.env.local`, `.env-production`. */
const ENVIRONMENT = /^\.env(?:rc)?(?![a-z0-9])/u;
const BACKUP_MARK = /(?:~|\.(?:bak|backup|old|orig|save|saved|copy|tmp|swp|swo|\d{1,8}))$/u;
const MAX_BACKUP_MARKS = 4;

/** Removes the suffixes that editors and people add to the names of copies: `id_rsa.bak`, `.env~`, `.id_rsa.swp`. */
function withoutBackupMarks(name: string): string {
  let original = name;
  for (let mark = 0; mark < MAX_BACKUP_MARKS && BACKUP_MARK.test(original); mark++) original = original.replace(BACKUP_MARK, "");
  const hidden = original !== name && original.startsWith(".") ? original.slice(1) : "";
  return SSH_KEY.test(hidden) || CREDENTIAL_FILES.has(hidden) ? hidden : original;
}

function isObeyedFile(name: string, parent: string): boolean {
  if (OBEYED_FILES.has(name) || OBEYED_ENDINGS.some((ending) => name.endsWith(ending))) return true;
  return parent === "hooks" && GIT_HOOKS.has(name);
}

const PLAIN = /^[\x21-\x7e]*$/u;

function foldName(segment: string): string {
  const plain = PLAIN.test(segment) ? segment : segment.normalize("NFKC").replaceAll(/[\p{Default_Ignorable_Code_Point}\p{Cc}]/gu, "");
  const [name = ""] = plain.toLowerCase().split(":", 1);
  let end = name.length;
  while (end > 0 && (name[end - 1] === "." || name[end - 1] === " ")) end--;
  return name.slice(0, end);
}
