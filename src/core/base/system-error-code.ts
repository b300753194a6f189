/** Returns the code of an error of the operating system or of Node, such as `ENOENT`; undefined for any other thrown value. */
export function systemErrorCode(thrown: unknown): string | undefined {
  const code: unknown = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return typeof code === "string" ? code : undefined;
}
