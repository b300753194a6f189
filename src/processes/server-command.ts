/** A server that runs as a child process. This file imports no types of Node, since the declarations of `haft/mcp` contain it. */

/** A program to start, with its arguments and environment. */
export interface ServerCommand {
  /** The program: looked up in `PATH` if it is a bare name. Never interpreted by a shell. */
  readonly command: string;
  readonly args?: readonly string[];
  /** Variables besides the few that the server inherits (`PATH`, `HOME`, `USER`, `LANG`, `TMPDIR`) and `HAFT_SERVER`, which marks it. */
  readonly env?: Readonly<Record<string, string>>;
  /** Working directory. @default that of this process */
  readonly cwd?: string;
}
