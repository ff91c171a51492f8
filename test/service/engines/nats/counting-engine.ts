import { SpeechError } from '../../../../src/errors/speech-error.js'
import type { Engine, EngineCapabilities, SegmentListener } from '../../../../src/service/engines/engine.js'
import { createSegmentEngine } from '../../../../src/service/engines/segment-engine.js'
import type { VirtualClock } from '../../virtual-clock.js'

const capabilities: EngineCapabilities = {
  sampleRateHz: 8000,
  partials: true,
  words: true,
  kind: 'dictation',
  segmentsAtOnce: 4,
}

/** What it recognizes in samples: a lost, doubled or misplaced one changes it. */
export const textOf = (samples: readonly number[]): string =>
  `${samples.length} ${samples.reduce((hash, sample) => (hash * 31 + sample) | 0, 7)}`

/** An engine that counts. */
export interface CountingEngine extends Engine {
  /** Segments that are open now. */
  readonly open: () => number
  /** Segments that were opened. */
  readonly opened: () => number
  /** Fails every open segment. */
  readonly fail: () => void
}

/**
 * An engine whose text proves the samples of its segments. It reads at once, unless it `lags`, and decides
 * `decideAfterMs` after the end.
 */
export const countingEngine = (
  clock: VirtualClock,
  { decideAfterMs = 5, reads = true }: { readonly decideAfterMs?: number; readonly reads?: boolean } = {},
): CountingEngine => {
  const listeners = new Set<SegmentListener>()
  let opened = 0
  const engine = createSegmentEngine({
    capabilities,
    openChannel: () => (startMs, listener) => {
      const samples: number[] = []
      opened += 1
      listeners.add(listener)
      return {
        write: (chunk) => {
          samples.push(...chunk)
          if (reads) listener.progress(chunk.length, `${samples.length}`)
        },
        close: (endMs, isCut) =>
          void clock.schedule(() => {
            if (!listeners.delete(listener)) return
            const text = textOf(samples)
            listener.decided(
              [{ text, startMs, endMs, confidence: 0.5 }],
              isCut ? { text, isIncomplete: true } : undefined,
            )
          }, decideAfterMs),
        abort: () => void listeners.delete(listener),
      }
    },
  })
  return {
    ...engine,
    open: () => listeners.size,
    opened: () => opened,
    fail: () => {
      for (const listener of [...listeners]) {
        listeners.delete(listener)
        listener.failed(new SpeechError('engine-failed', 'The decoder failed.'))
      }
    },
  }
}
