/** A server that runs as a child process, in a file that no type of Node is imported in: `haft/mcp` has it in its declarations. */

/** A program to start, and with what. */
export interface ServerCommand {
  /** A program: looked up in `PATH` when it is a bare name. Never read by a shell. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Given to the server besides the few variables it inherits (`PATH`, `HOME`, `USER`, `LANG`, `TMPDIR`) and `HAFT_SERVER`, which marks it. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where it runs. @default this process's folder */
  readonly cwd?: string;
}
