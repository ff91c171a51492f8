import { SpeechError } from 'rxspeech/internal/errors/speech-error'
import { checkOption, wholeNumber } from 'rxspeech/internal/protocol/validation'

/**
 * A module with custom nodes, which only the operator can name: a file or a package. All its exports that `defineNode`
 * made are nodes.
 */
export type CustomNodeSource = (
  | {
      /** A JavaScript module, CommonJS or ESM. A relative path is resolved from `from`. */
      readonly file: string
    }
  | {
      /** A package that is installed in the folder `from` or above it. */
      readonly package: string
    }
) &
  CustomNodeOptions

/** How the nodes of a source are found and run. */
export interface CustomNodeOptions {
  /** The folder that a relative path and a package are resolved from. @default the working directory */
  readonly from?: string | undefined
  /**
   * `worker`: each node of each session runs in its own thread, which can be terminated at any time. `inline`: nodes
   * run on the service's own thread, without copies. Only for nodes that are trusted not to block it. @default 'worker'
   */
  readonly run?: 'worker' | 'inline' | undefined
  /** How long a node in a worker may take to process what it receives at once, in milliseconds. @default 1000 */
  readonly budgetMs?: number | undefined
  /** How long a worker and its node may take to open, in milliseconds. @default 10000 */
  readonly openWithinMs?: number | undefined
  /** The memory of a worker, in MB. @default 64 */
  readonly memoryMb?: number | undefined
  /** How many workers of this source run at once; a session beyond that is refused with `overloaded`. @default 64 */
  readonly maxWorkers?: number | undefined
}

export type ResolvedCustomNodeOptions = {
  readonly [Name in Exclude<keyof CustomNodeOptions, 'from'>]-?: NonNullable<CustomNodeOptions[Name]>
}

/** The options with their defaults. Throws `invalid-options` that names an option out of range. */
export const resolveCustomNodeOptions = ({
  run = 'worker',
  budgetMs = 1000,
  openWithinMs = 10_000,
  memoryMb = 64,
  maxWorkers = 64,
}: CustomNodeOptions): ResolvedCustomNodeOptions => {
  const ways: readonly string[] = ['worker', 'inline']
  if (!ways.includes(run)) {
    throw new SpeechError('invalid-options', `nodes: run must be worker or inline, not ${JSON.stringify(run)}.`)
  }
  return {
    run,
    budgetMs: checkOption('nodes: budgetMs', wholeNumber({ min: 10, max: 600_000 }), budgetMs),
    openWithinMs: checkOption('nodes: openWithinMs', wholeNumber({ min: 10, max: 600_000 }), openWithinMs),
    memoryMb: checkOption('nodes: memoryMb', wholeNumber({ min: 16, max: 4096 }), memoryMb),
    maxWorkers: checkOption('nodes: maxWorkers', wholeNumber({ min: 1, max: 10_000 }), maxWorkers),
  }
}
