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
const MAX_TYPE_LENGTH = 100;
const MAX_NAME_LENGTH = 200;

export interface DocumentFormat {
  readonly mediaType: string;
  readonly format: string;
}

/** The format of a `data:` URI that Bedrock can read. */
export function documentFormat(uri: string): DocumentFormat | undefined {
  const mediaType = /^data:([^;,]+);base64,/u.exec(uri.slice(0, MAX_TYPE_LENGTH))?.[1] ?? "";
  const format = FORMATS.get(mediaType);
  return format === undefined ? undefined : { mediaType, format };
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
