/** Notices that events came over a stream, whatever they say. */

const DATA = "data:";

/** Reads to the end, and calls `onEvents` for each piece that ends a line of data: a proxy may cut the stream anywhere. */
export async function noticeEvents(body: ReadableStream<Uint8Array>, onEvents: () => void): Promise<void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let begun = ""; // no more of a line that is not whole than says what it is
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = `${begun}${decoder.decode(value, { stream: true })}`.split("\n");
    begun = (lines.pop() ?? "").slice(0, DATA.length);
    if (lines.some((line) => line.startsWith(DATA))) onEvents();
  }
}
