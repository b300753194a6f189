/** The file that is open in the page. It stays open while other screens are shown. */
import { basePath, storageKey } from "../show/address.ts";
import { renderPauseMs } from "../show/render-pause.ts";
import { readStored, storeValue } from "../show/stored-values.ts";
import { openFile, type FileSource, type OpenedFile } from "./open-file.ts";

export interface FileState {
  readonly file: OpenedFile | undefined;
  /** Grows with each change, since logs change in place. */
  readonly version: number;
}

type Listener = () => void;

class FileStore {
  #state: FileState = { file: undefined, version: 0 };
  #reading: AbortController | undefined;
  readonly #listeners = new Set<Listener>();

  readonly getState = (): FileState => this.#state;

  readonly subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Reads a file, which replaces the open one. */
  async open(source: FileSource): Promise<void> {
    this.#reading?.abort();
    const reading = (this.#reading = new AbortController());
    this.#update(undefined);
    let drawnAt = -Infinity;
    for await (const file of openFile(source, reading.signal)) {
      if (reading.signal.aborted) return;
      const events = file.parts[0]?.log.version ?? 0;
      if (!file.isWhole && performance.now() - drawnAt < renderPauseMs(events)) continue;
      drawnAt = performance.now();
      this.#update(file);
    }
  }

  #update(file: OpenedFile | undefined): void {
    this.#state = { file, version: this.#state.version + 1 };
    for (const listener of this.#listeners) listener();
  }
}

export const fileStore = new FileStore();

/** Opens a file that was chosen or dropped. */
export function openLocalFile(file: File): Promise<void> {
  return fileStore.open({ name: file.name, pieces: readFileText(file) });
}

/** Size of the chunks of a file, in bytes. The chunks of `file.stream()` are so small that most of the time would go to waiting for them. */
const PIECE_BYTES = 1024 * 1024;

async function* readFileText(file: File): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let ahead = file.slice(0, PIECE_BYTES).arrayBuffer();
  for (let end = PIECE_BYTES; ; end += PIECE_BYTES) {
    const piece = await ahead;
    const isLast = end >= file.size;
    if (!isLast) {
      ahead = file.slice(end, end + PIECE_BYTES).arrayBuffer(); // read while the current chunk is used
      ahead.catch(() => {}); // reported when it is awaited
    }
    yield decoder.decode(piece, { stream: !isLast });
    if (isLast) return;
  }
}

const TOKEN_NAME = "haft-file-token";

/**
 * Opens the file that `haft open` serves; does nothing if there is none. Takes its token from the fragment of the address, removes it there at once,
 * and keeps it until the tab is closed.
 */
export function openServedFile(): void {
  const given = /^#([\w-]{16,200})$/u.exec(window.location.hash)?.[1];
  if (given !== undefined) {
    storeValue("session", storageKey(TOKEN_NAME), given);
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
  }
  const token = given ?? readStored("session", storageKey(TOKEN_NAME));
  if (token !== undefined) void fileStore.open({ name: "file", pieces: fetchServedFile(token) });
}

async function* fetchServedFile(token: string): AsyncGenerator<string, void, undefined> {
  const response = await fetch(`${basePath()}/opened-file`, { headers: { authorization: `Bearer ${token}` } }).catch(() => undefined);
  if (response === undefined) throw new Error("The program that serves this file does not answer. Run haft open again.");
  if (!response.ok || response.body === null) throw new Error((await response.text()).slice(0, 1_000));
  yield* decodeStream(response.body);
}

async function* decodeStream(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string, void, undefined> {
  const reader = stream.pipeThrough(new TextDecoderStream("utf-8", { fatal: true })).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {}); // it has failed already
  }
}
