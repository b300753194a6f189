const DATA = "data:";

/** Reads a stream of events to its end without parsing. Calls `onEvents` for each chunk that ends a line of data: a proxy may split it anywhere. */
export async function detectEvents(body: ReadableStream<Uint8Array>, onEvents: () => void): Promise<void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let partialLine = ""; // the beginning of an incomplete line, no longer than needed to recognize it
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = `${partialLine}${decoder.decode(value, { stream: true })}`.split("\n");
    partialLine = (lines.pop() ?? "").slice(0, DATA.length);
    if (lines.some((line) => line.startsWith(DATA))) onEvents();
  }
}
