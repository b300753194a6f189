/** Converts the variables in the files of other MCP clients to ours: `${NAME}`. */
import { basename } from "node:path";
import { homeFolder } from "../../documents/home-folder.ts";
import type { KeyPath } from "../../documents/key-positions.ts";
import type { Problems } from "../../documents/problems.ts";
import type { Environment } from "../variables.ts";
import type { Note } from "./client-formats.ts";

export interface ClientVariablesOptions {
  readonly environment: Environment;
  readonly problems: Problems;
  /** The folder of the file, and below it that of the project. */
  readonly folder: string;
  readonly workspace: string;
  /** Whether the client replaces `$NAME` too. */
  readonly bareVariables: boolean;
  /**
   * How to treat values that the client asks a person for or reads from a file: `name` turns them into environment variables, with a note; `refuse`
   * reports them; `keep` leaves them as written.
   */
  readonly asked: "name" | "refuse" | "keep";
  readonly notes: Note[];
}

/** The notations of variables: `${…}`, `${{ secrets.… }}`, `{env:…}` and `{file:…}`, and `$NAME`. */
const WRITTEN = /\$\{\{\s*(?:secrets\.|inputs\.)?(\w+)\s*\}\}|\$\{([^}]{0,256})\}|(?<!\$)\{(env|file):([^}]{0,256})\}|\$([A-Za-z_]\w*)/gu;
/** `%NAME%` as on Windows. Names of two characters are excluded, since they may be part of an encoded address. */
const OF_WINDOWS = /%[A-Za-z_]\w{2,}%/u;
/** The same in an address, where the `%A9bar%` in `caf%C3%A9bar%20` is percent-encoding. */
const OF_WINDOWS_IN_ADDRESS = /%(?![\dA-Fa-f]{2})[A-Za-z_]\w{2,}%/u;
/** Values that a client asks a person for: `input:` of editors, and settings of a bundle. */
const ASKED = /^(?:input:|user_config\.)(.+)$/u;

export class ClientVariables {
  readonly #options: ClientVariablesOptions;
  readonly #folders: ReadonlyMap<string, () => string>;

  constructor(options: ClientVariablesOptions) {
    const { workspace, folder } = options;
    this.#options = options;
    this.#folders = new Map([
      ["workspaceFolder", () => workspace],
      ["workspaceRoot", () => workspace],
      ["workspaceFolderBasename", () => basename(workspace)],
      ["userHome", () => homeFolder()],
      ["__dirname", () => folder],
      ["pathSeparator", () => "/"],
      ["/", () => "/"],
    ]);
  }

  translate(text: string, place: KeyPath): string {
    if (this.#options.bareVariables && text.includes("$("))
      this.#options.notes.push({ path: place, text: '"$(…)" stays as it is written: no command is run for a value; write a variable.' });
    const [ofWindows] = (text.includes("://") ? OF_WINDOWS_IN_ADDRESS : OF_WINDOWS).exec(text) ?? [];
    if (ofWindows !== undefined)
      this.#options.notes.push({
        path: place,
        text: `"${ofWindows}" stays as it is written: only cmd.exe replaces it; write "\${${ofWindows.slice(1, -1)}}".`,
      });
    return text.replaceAll(WRITTEN, (written: string, secret?: string, name?: string, kind?: string, braced?: string, bare?: string) => {
      if (secret !== undefined) return `\${${secret}}`;
      if (name !== undefined) return this.#translateNamed(name, written, place);
      if (kind === "env") return `\${${braced}}`;
      if (kind === "file")
        return this.#translateAsked(basename(braced ?? ""), { written, place, why: "is the text of a file, which is not read here" });
      return this.#options.bareVariables && bare !== undefined ? `\${${bare}}` : written;
    });
  }

  #translateNamed(name: string, written: string, place: KeyPath): string {
    const { environment } = this.#options;
    if (name.startsWith("env:")) return `\${${name.slice("env:".length)}}`;
    const folder = this.#folders.get(name);
    if (folder !== undefined) return folder();
    const [, variable, otherwise] = /^(\w+):-(.*)$/su.exec(name) ?? [];
    if (variable !== undefined) return (environment[variable] ?? "") === "" ? (otherwise ?? "") : `\${${variable}}`;
    const asked = ASKED.exec(name)?.[1];
    if (asked === undefined) return written;
    return this.#translateAsked(asked, { written, place, why: "is a value that the client asks a person for, which is not done here" });
  }

  #translateAsked(
    asked: string,
    { written, place, why }: { readonly written: string; readonly place: KeyPath; readonly why: string },
  ): string {
    const { notes, problems } = this.#options;
    if (this.#options.asked === "keep") return written;
    if (this.#options.asked === "refuse") {
      problems.add(place, `${JSON.stringify(written)} ${why}; name an environment variable: \${env:NAME}.`);
      return "";
    }
    const name = variableName(asked);
    notes.push({ path: place, text: `${JSON.stringify(written)} ${why}; set the environment variable ${name}.` });
    return `\${${name}}`;
  }
}

/** Returns a variable name: `GITHUB_TOKEN` for `github-token`. */
function variableName(asked: string): string {
  const name = asked
    .replaceAll(/([a-z\d])([A-Z])/gu, "$1_$2")
    .replaceAll(/\W+/gu, "_")
    .toUpperCase();
  return /^\d/u.test(name) ? `_${name}` : name;
}
