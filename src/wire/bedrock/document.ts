/** Documents as Bedrock takes them: by format, each under a name that it allows. */

/** @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html */
const FORMATS: ReadonlyMap<string, string> = new Map([
  ["application/pdf", "pdf"],
  ["text/csv", "csv"],
  ["application/msword", "doc"],
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
  ["application/vnd.ms-excel", "xls"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xlsx"],
  ["text/html", "html"],
  ["text/plain", "txt"],
  ["text/markdown", "md"],
]);
const MAX_NAME_LENGTH = 200;

/** What Bedrock calls the files of a media type; undefined for those that it does not read. */
export function documentFormat(mediaType: string): string | undefined {
  return FORMATS.get(mediaType);
}

/** Names of letters, digits, single spaces, hyphens, parentheses and brackets, each only once in a request. */
export class DocumentNames {
  readonly #taken = new Set<string>();
  /** By a name, the number that the next one of it is tried with. */
  readonly #next = new Map<string, number>();

  take(name = ""): string {
    const plain = name
      .replaceAll(/[^A-Za-z0-9()[\]-]+/gu, " ")
      .trim()
      .slice(0, MAX_NAME_LENGTH - 10)
      .trim();
    const base = plain === "" ? "Document" : plain;
    let free = base;
    let count = this.#next.get(base) ?? 2;
    for (; this.#taken.has(free); count++) free = `${base} (${count})`;
    this.#next.set(base, count);
    this.#taken.add(free);
    return free;
  }
}
