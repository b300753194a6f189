/** Keeps standard output for what is written on purpose, such as a protocol or JSON, which a stray line would break. */

export interface DivertedOutput {
  /** While `work` runs, standard output is what it was. It must not wait. */
  readonly through: <T>(work: () => T) => T;
  /** Lets the process print to standard output again. */
  readonly release: () => void;
}

/** Until `release`, what the process prints to standard output goes to standard error, but for what is written in `through`. */
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
