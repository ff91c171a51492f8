import { from, type ObservableInput } from 'rxjs'
import { pullerOf, type Puller } from './puller.js'

/** Who takes the audio. `wanted` is asked before each pull; a pushed source is not asked. */
export interface AudioSink {
  readonly wanted: () => boolean
  readonly chunk: (bytes: Uint8Array) => void
  readonly end: () => void
  readonly fail: (error: unknown) => void
}

export interface AudioFeed {
  /** Begins, and after `wanted` was false, goes on. For a pushed source only the first call has an effect. */
  readonly resume: () => void
  /** Lets go of the source: unsubscribes, or returns the iterator, or cancels the stream. */
  readonly close: () => void
}

/**
 * Reads any source of audio: an Observable or a promise pushes; an iterable, an async iterable (a Node stream is one)
 * or a Web stream is pulled, one chunk at a time, as long as the sink wants more.
 */
export const feedAudio = (source: ObservableInput<Uint8Array>, sink: AudioSink): AudioFeed => {
  const open = pullerOf(source)
  return open === undefined ? pushed(source, sink) : pulled(open, sink)
}

const pushed = (source: ObservableInput<Uint8Array>, sink: AudioSink): AudioFeed => {
  const audio$ = from(source)
  let subscription: { unsubscribe: () => void } | undefined
  let closed = false
  return {
    resume: () => {
      if (closed || subscription !== undefined) return
      subscription = { unsubscribe: () => undefined }
      const live = audio$.subscribe({ next: sink.chunk, complete: sink.end, error: sink.fail })
      subscription = live
      if (closed) live.unsubscribe()
    },
    close: () => {
      closed = true
      subscription?.unsubscribe()
    },
  }
}

const pulled = (open: () => Puller, sink: AudioSink): AudioFeed => {
  let puller: Puller | undefined
  let phase: 'idle' | 'pulling' | 'over' = 'idle'
  const isOver = (): boolean => phase === 'over'
  const pull = async (): Promise<void> => {
    try {
      puller ??= open()
      while (sink.wanted()) {
        const result = await puller.next()
        if (isOver()) return
        if (result.done === true) {
          phase = 'over'
          sink.end()
          return
        }
        sink.chunk(result.value)
        if (isOver()) return
      }
      phase = 'idle'
    } catch (error) {
      if (isOver()) return
      phase = 'over'
      sink.fail(error)
    }
  }
  return {
    resume: () => {
      if (phase !== 'idle' || !sink.wanted()) return
      phase = 'pulling'
      void pull()
    },
    close: () => {
      if (phase === 'over') return
      phase = 'over'
      puller?.release()
    },
  }
}
