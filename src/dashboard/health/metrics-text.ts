/** Reads the metrics of a server in the text format of Prometheus. */

export interface Sample {
  readonly name: string;
  readonly labels: string;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{([^}]*)\})? (\S+)$/u;

export function parseMetrics(text: string): readonly Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [{ name, labels, value: Number(value) }];
  });
}

/** Returns a quantile of the values since `before`, in their unit, taking values as spread evenly in a bucket. Undefined if there are none. */
export function quantile(samples: readonly Sample[], before: readonly Sample[], name: string, share: number): number | undefined {
  const earlier = collectBuckets(before, name);
  const buckets = [...collectBuckets(samples, name)].map(([bound, value]) => ({ bound, value: value - (earlier.get(bound) ?? 0) }));
  const all = buckets.at(-1)?.value ?? 0;
  if (all <= 0) return undefined;
  const wanted = share * all;
  const index = buckets.findIndex(({ value }) => value >= wanted);
  const { bound: from, value: below } = buckets[index - 1] ?? { bound: 0, value: 0 };
  const { bound: to, value } = buckets[index] ?? { bound: from, value: below };
  if (to === Infinity) return from;
  return value === below ? to : from + ((wanted - below) / (value - below)) * (to - from);
}

/** Returns the number of values up to each bound, sorted by bound. */
function collectBuckets(samples: readonly Sample[], name: string): ReadonlyMap<number, number> {
  const found = samples.flatMap((sample) => {
    const bound = sample.name === `${name}_bucket` ? /^le="([^"]+)"$/u.exec(sample.labels)?.[1] : undefined;
    return bound === undefined ? [] : [[bound === "+Inf" ? Infinity : Number(bound), sample.value] as const];
  });
  return new Map(found.sort(([one], [other]) => one - other));
}

/** Returns the sum over all labels; 0 if there are no samples. */
export function sumSamples(samples: readonly Sample[], name: string): number {
  return samples.reduce((sum, sample) => (sample.name === name ? sum + sample.value : sum), 0);
}
