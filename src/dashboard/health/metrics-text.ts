/** Reads the counters of a server, which are in the text format of Prometheus. */

export interface Sample {
  readonly name: string;
  readonly labels: string;
  readonly value: number;
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{([^}]*)\})? (\S+)$/u;

export function readMetrics(text: string): readonly Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value] = LINE.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [{ name, labels, value: Number(value) }];
  });
}

/** The sum over all labels; 0 where there is none. */
export function total(samples: readonly Sample[], name: string): number {
  return samples.reduce((sum, sample) => (sample.name === name ? sum + sample.value : sum), 0);
}
