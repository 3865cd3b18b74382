/** A hint that a materialization is due; the ledger decides whether there is work. */
export interface Job {
  /** Letters, digits, `_` and `-` only, never digits alone; equal work has an equal id. */
  readonly id: string;
  /** Wire word of the transport; one queue each. */
  readonly transport: string;
  readonly materializationId: string;
}

/**
 * At-least-once delivery of jobs to handlers in this process. Losing every job is allowed: the sweeper re-adds from the ledger.
 * add: the same id that waits or runs is added once; an id that has finished can be added again. Delay is ms from now.
 * process: at most `concurrency` handlers at once; a handler never throws. close: takes no new job, waits for running ones until `deadlineMs`.
 */
export interface Queue {
  add(job: Job, options?: { readonly delayMs?: number }): Promise<void>;
  process(
    options: { readonly transports: readonly string[]; readonly concurrency: number },
    handler: (job: Job) => Promise<void>,
  ): void;
  /** Resolves when nothing waits and nothing runs. */
  idle(): Promise<void>;
  close(deadlineMs: number): Promise<void>;
}
