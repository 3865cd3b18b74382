/** How far a long operation has come. */
export interface Progress {
  /** What is going on, as a person would say it: `sorting rows`. */
  readonly stage: string;
  readonly done?: number;
  /** Where `done` will end, when that is known. */
  readonly total?: number;
  readonly unit?: "rows" | "bytes" | "objects";
}

export type ProgressListener = (progress: Progress) => void;
