import { expect, test } from "vitest";
import {
  ResultCache,
  type CacheOptions,
  type CachedAnswer,
  type CacheTerms,
  type CachePartition,
} from "../../src/policy/cache/result-cache.ts";
import { fakePorts, seededRandom } from "../../src/testing/fake-ports.ts";
import { testInCI } from "../test-in-ci.ts";

function makeCache(options: CacheOptions = {}): { readonly cache: ResultCache; readonly ports: ReturnType<typeof fakePorts> } {
  const ports = fakePorts();
  return { cache: new ResultCache(options, { clock: ports.clock, log: ports.log, store: undefined }), ports };
}

function answer(output: string): CachedAnswer {
  return { output, content: undefined, metadata: undefined };
}

const ALWAYS: CacheTerms = { asOf: 0, reads: [], ttlMs: undefined };

test("C01 an answer stored in one partition is never found in another, whatever its key", () => {
  const { cache } = makeCache();
  const [one, other] = [cache.partitionOf({}), cache.partitionOf({})];
  cache.store({ partition: one, key: "k" }, answer("mine"), ALWAYS);
  expect([cache.find(one, "k"), cache.find(other, "k"), cache.find(one, "K")]).toEqual([answer("mine"), undefined, undefined]);
});

test("F3.16 an answer lasts as long as its ttl, and forgetting an owner drops all its answers, later ones included", async () => {
  const { cache, ports } = makeCache();
  const owner = {};
  const partition = cache.partitionOf(owner);
  cache.store({ partition, key: "short" }, answer("s"), { ...ALWAYS, ttlMs: 100 });
  cache.store({ partition, key: "long" }, answer("l"), ALWAYS);
  await ports.clock.advance(99);
  expect(cache.find(partition, "short")).toEqual(answer("s"));
  await ports.clock.advance(1);
  expect([cache.peek(partition, "short"), cache.size]).toEqual([undefined, 2]);
  expect([cache.find(partition, "short"), cache.size]).toEqual([undefined, 1]);
  cache.forget(owner);
  expect([
    cache.size,
    cache.bytes,
    cache.store({ partition, key: "late" }, answer("x"), ALWAYS),
    cache.find(cache.partitionOf(owner), "long"),
  ]).toEqual([0, 0, false, undefined]);
});

test("an answer is neither stored nor found once a resource that it read was written", () => {
  const { cache } = makeCache();
  const partition = cache.partitionOf({});
  const terms = { asOf: cache.versions.now, reads: ["file:/a"], ttlMs: undefined };
  cache.store({ partition, key: "k" }, answer("old"), terms);
  cache.versions.recordWrite(["file:/b"]);
  expect(cache.find(partition, "k")).toEqual(answer("old"));
  cache.versions.recordWrite(["file:/a/x"]);
  expect([cache.find(partition, "k"), cache.size, cache.bytes]).toEqual([undefined, 0, 0]);
  expect(cache.store({ partition, key: "k" }, answer("old"), terms)).toBe(false);
});

test("an answer larger than a quarter of maxBytes is not stored, and replacing an answer frees the old one's bytes", () => {
  const { cache } = makeCache({ maxBytes: 8_000 });
  const partition = cache.partitionOf({});
  expect(cache.store({ partition, key: "k" }, answer("x".repeat(2_000)), ALWAYS)).toBe(false);
  expect(cache.store({ partition, key: "k".repeat(2_000) }, answer(""), ALWAYS)).toBe(false);
  cache.store({ partition, key: "k" }, answer("x".repeat(1_000)), ALWAYS);
  const { bytes } = cache;
  for (let round = 0; round < 10; round++) cache.store({ partition, key: "k" }, answer("y".repeat(1_000)), ALWAYS);
  expect([cache.size, cache.bytes, cache.find(partition, "k")]).toEqual([1, bytes, answer("y".repeat(1_000))]);
  expect(makeCache({ maxBytes: 0 }).cache.store({ partition, key: "k" }, answer(""), ALWAYS)).toBe(false);
});

test.each([-1, 1.5, Number.NaN, Infinity, "64"])("C13 maxBytes %s is rejected with invalid_argument", (maxBytes) => {
  const make: () => ResultCache = () => Reflect.construct(ResultCache, [{ maxBytes }, { clock: fakePorts().clock, store: undefined }]);
  expect(make).toThrow(expect.objectContaining({ code: "invalid_argument", message: expect.stringContaining("maxBytes") }));
});

/** An exact LRU of the same room, written the plain way. */
class ModelLru {
  readonly #weights = new Map<number, number>();
  #bytes = 0;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  use(key: number): boolean {
    const weight = this.#weights.get(key);
    if (weight === undefined) return false;
    this.#weights.delete(key);
    this.#weights.set(key, weight);
    return true;
  }

  add(key: number, weight: number): void {
    this.#weights.set(key, weight);
    this.#bytes += weight;
    for (const [oldest, bytes] of this.#weights) {
      if (this.#bytes <= this.#maxBytes) break;
      this.#weights.delete(oldest);
      this.#bytes -= bytes;
    }
  }
}

/** Keys 0 … count - 1 where the n-th is asked for 1/n as often as the first. */
function zipf(count: number, seed: number): () => number {
  const random = seededRandom(seed);
  const cumulated = new Float64Array(count);
  let sum = 0;
  for (let rank = 0; rank < count; rank++) cumulated[rank] = sum += 1 / (rank + 1);
  return () => {
    const aim = random.next() * sum;
    let low = 0;
    for (let high = count - 1; low < high;) {
      const middle = (low + high) >> 1;
      if ((cumulated[middle] ?? 0) < aim) low = middle + 1;
      else high = middle;
    }
    return low;
  };
}

function weightOf(partitionKey: string, value: CachedAnswer): number {
  const { cache } = makeCache();
  cache.store({ partition: cache.partitionOf({}), key: partitionKey }, value, ALWAYS);
  return cache.bytes;
}

testInCI("L23 a million operations on Zipf-distributed keys hit exactly as in an exact LRU, within the size limit", () => {
  const maxBytes = 4 * 1024 * 1024;
  const { cache } = makeCache({ maxBytes });
  const model = new ModelLru(maxBytes);
  const partition: CachePartition = cache.partitionOf({});
  const answers = Array.from({ length: 8 }, (_, index) => answer("x".repeat(index * 100)));
  const weights = answers.map((value) => weightOf("000000", value));
  const next = zipf(100_000, 23);
  let hits = 0;
  let differences = 0;
  let largest = 0;
  for (let operation = 0; operation < 1_000_000; operation++) {
    const key = next();
    const place = { partition, key: String(key).padStart(6, "0") };
    const found = cache.find(partition, place.key) !== undefined;
    if (found !== model.use(key)) differences++;
    if (found) hits++;
    else {
      cache.store(place, answers[key % 8] ?? answer(""), ALWAYS);
      model.add(key, weights[key % 8] ?? 0);
    }
    if (cache.bytes > largest) largest = cache.bytes;
  }
  expect(differences).toBe(0);
  expect(hits).toBeGreaterThan(400_000);
  expect(largest).toBeLessThanOrEqual(maxBytes);
  expect(largest).toBeGreaterThan(maxBytes * 0.99);
});
