import { SpeechError } from '../../errors/speech-error.js'
import { wholeNumber } from '../../transport/limits.js'

/**
 * Where custom nodes come from: a file or a package that the operator names, and nobody else. Its exports are looked
 * through for what `defineNode` made.
 */
export type CustomNodeSource = (
  | {
      /** A JavaScript module, CommonJS or ESM; a relative path counts from `from`. */
      readonly file: string
    }
  | {
      /** A package that is installed in `from`, or above it. */
      readonly package: string
    }
) &
  HostOptions

/** How the nodes of a source are found and run. */
export interface HostOptions {
  /** The folder that a relative path and a package count from. Default: the working directory. */
  readonly from?: string
  /**
   * `worker`, the default: each node of each session in a thread of its own, which can be ended whatever it does.
   * `inline`: on the service's own thread, without copies, for nodes that are trusted not to block it.
   */
  readonly run?: 'worker' | 'inline'
  /** How long a node may take over what it was given at once, in milliseconds; only a worker can be held to it. Default 1000. */
  readonly budgetMs?: number
  /** How long a worker and its node may take to be ready, in milliseconds. Default 10,000. */
  readonly openWithinMs?: number
  /** Memory of a worker, in MB. Default 64. */
  readonly memoryMb?: number
  /** Workers of this source at the same time; a session that needs one more is refused with `overloaded`. Default 64. */
  readonly maxWorkers?: number
}

export type ResolvedHostOptions = Required<Omit<HostOptions, 'from'>>

/** The options with their defaults; throws `invalid-options` with the name of the one that is out of range. */
export const resolveHostOptions = ({
  run = 'worker',
  budgetMs = 1000,
  openWithinMs = 10_000,
  memoryMb = 64,
  maxWorkers = 64,
}: HostOptions): ResolvedHostOptions => {
  const ways: readonly string[] = ['worker', 'inline']
  if (!ways.includes(run)) {
    throw new SpeechError('invalid-options', `nodes: run must be worker or inline, not ${JSON.stringify(run)}.`)
  }
  return {
    run,
    budgetMs: wholeNumber('nodes: budgetMs', budgetMs, 10, 600_000),
    openWithinMs: wholeNumber('nodes: openWithinMs', openWithinMs, 10, 600_000),
    memoryMb: wholeNumber('nodes: memoryMb', memoryMb, 16, 4096),
    maxWorkers: wholeNumber('nodes: maxWorkers', maxWorkers, 1, 10_000),
  }
}
