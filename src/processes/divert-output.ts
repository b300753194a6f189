/** Reserves standard output for intended output, such as a protocol or JSON, which a stray line would break. */

export interface DivertedOutput {
  /** Runs `work` with the original standard output. `work` must be synchronous. */
  readonly through: <T>(work: () => T) => T;
  readonly release: () => void;
}

/** Redirects standard output of this process to standard error until `release`, except for what is written in `through`. */
export function divertOutput(): DivertedOutput {
  const { stdout, stderr } = process;
  const write = stdout.write.bind(stdout);
  const divert = stderr.write.bind(stderr);
  stdout.write = divert;
  return {
    through: (work) => {
      stdout.write = write;
      try {
        return work();
      } finally {
        stdout.write = divert;
      }
    },
    release: () => {
      stdout.write = write;
    },
  };
}
