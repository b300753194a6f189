/** SHA-256 without `crypto.subtle`, which is asynchronous and needs a secure context. @see https://csrc.nist.gov/pubs/fips/180-4/upd1/final */

const K = computeConstants(64, 1 / 3);
const INITIAL_STATE = computeConstants(8, 1 / 2);
const MESSAGE_SCHEDULE = new Int32Array(64);
const BLOCK_BYTES = 64;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

let bytes = new Uint8Array(1 << 16);
const encoder = new TextEncoder();

export function sha256(data: string | Uint8Array): string {
  const length = loadInput(data);
  const state = new Int32Array(INITIAL_STATE);
  const view = new DataView(bytes.buffer);
  const padded = Math.ceil((length + 9) / BLOCK_BYTES) * BLOCK_BYTES;
  bytes.fill(0, length, padded);
  bytes[length] = 0x80;
  view.setUint32(padded - 8, Math.floor(length / 2 ** 29));
  view.setUint32(padded - 4, (length * 8) >>> 0);
  for (let at = 0; at < padded; at += BLOCK_BYTES) processBlock(state, view, at);
  let hex = "";
  for (const word of state) for (let bits = 24; bits >= 0; bits -= 8) hex += HEX[(word >>> bits) & 0xff];
  return hex;
}

/** Copies the data into the buffer. Returns its number of bytes. */
function loadInput(data: string | Uint8Array): number {
  const needed = (typeof data === "string" ? data.length * 3 : data.length) + 2 * BLOCK_BYTES;
  if (bytes.length < needed) bytes = new Uint8Array(needed);
  if (typeof data === "string") return encoder.encodeInto(data, bytes).written;
  bytes.set(data);
  return data.length;
}

function processBlock(state: Int32Array, view: DataView, at: number): void {
  for (let index = 0; index < 16; index++) MESSAGE_SCHEDULE[index] = view.getInt32(at + index * 4);
  for (let index = 16; index < 64; index++) {
    const early = wordAt(MESSAGE_SCHEDULE, index - 15);
    const late = wordAt(MESSAGE_SCHEDULE, index - 2);
    const first = rotateRight(early, 7) ^ rotateRight(early, 18) ^ (early >>> 3);
    const second = rotateRight(late, 17) ^ rotateRight(late, 19) ^ (late >>> 10);
    MESSAGE_SCHEDULE[index] = (wordAt(MESSAGE_SCHEDULE, index - 16) + first + wordAt(MESSAGE_SCHEDULE, index - 7) + second) | 0;
  }
  let a = wordAt(state, 0);
  let b = wordAt(state, 1);
  let c = wordAt(state, 2);
  let d = wordAt(state, 3);
  let e = wordAt(state, 4);
  let f = wordAt(state, 5);
  let g = wordAt(state, 6);
  let h = wordAt(state, 7);
  for (let index = 0; index < 64; index++) {
    const first =
      (h +
        (rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25)) +
        ((e & f) ^ (~e & g)) +
        wordAt(K, index) +
        wordAt(MESSAGE_SCHEDULE, index)) |
      0;
    const second = ((rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  const added = [a, b, c, d, e, f, g, h];
  for (let index = 0; index < 8; index++) state[index] = (wordAt(state, index) + (added[index] ?? 0)) | 0;
}

function rotateRight(value: number, bits: number): number {
  return (value >>> bits) | (value << (32 - bits));
}

function wordAt(words: Int32Array, index: number): number {
  return words[index] as number; // the index is in bounds
}

/** Returns the first 32 bits of the fractional parts of the roots of the first primes. */
function computeConstants(count: number, power: number): Int32Array {
  const found: number[] = [];
  for (let number = 2; found.length < count; number++) {
    let isPrime = true;
    for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) isPrime = false;
    if (isPrime) found.push(number);
  }
  return Int32Array.from(found, (prime) => {
    const root = prime ** power;
    return Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
  });
}
