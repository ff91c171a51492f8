/** How far a client that sends faster than real time may be ahead: the burst that PROTOCOL 8 allows every client. */
export const maxLeadMs = 5_000

/**
 * The audio of a channel on its way from the client, which can be held back as long as the channel cannot decide
 * anything. So one call passes on several messages, and the processor loads the state of a session once for all of
 * them.
 */
export interface IncomingAudio {
  /** When the newest audio arrived, held back or not, by the scheduler's clock. */
  readonly lastMs: number
  /** When the received audio would end if it had been played as it arrived. */
  readonly playedMs: number
  /** Holds back the audio that arrives from now on until there are this many frames of it. */
  hold(frameCount: number): void
  /** Passes on the audio that is held back. */
  flush(): void
}
