import { from, Subject, takeUntil, type Observable, type ObservableInput } from 'rxjs'
import { SpeechError } from '../../errors/speech-error.js'
import { isInput } from '../../operators/is-input.js'
import { isPromiseLike, pullerOf, type Puller } from '../../operators/pull.js'

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
  /** Lets go of the source: unsubscribes, or returns the iterator, or cancels the stream. The sink hears no more. */
  readonly close: () => void
}

/**
 * Reads any source of audio: an Observable or a promise pushes; an iterable, an async iterable (a Node stream is one)
 * or a Web stream is pulled, one chunk at a time, as long as the sink wants more.
 */
export const feedAudio = (source: ObservableInput<Uint8Array>, sink: AudioSink): AudioFeed => {
  const open = pullerOf(source)
  return open === undefined ? pushed(from(source), sink) : pulled(open, sink)
}

/** Whether a source waits to be asked, so that what it has not given yet needs no buffer. */
export const isPulled = (source: ObservableInput<Uint8Array>): boolean => pullerOf(source) !== undefined

/** Throws `invalid-options` where a source is nothing that audio can come from. */
export const checkSource = (source: ObservableInput<Uint8Array>): void => {
  if (isInput(source)) return
  throw new SpeechError(
    'invalid-options',
    'The audio source must be an Observable, a promise, an iterable, an async iterable, or a Node or Web stream.',
  )
}

const pushed = (audio$: Observable<Uint8Array>, sink: AudioSink): AudioFeed => {
  const closed$ = new Subject<undefined>()
  let phase: 'idle' | 'open' | 'over' = 'idle'
  const isOver = (): boolean => phase === 'over'
  return {
    resume: () => {
      if (phase !== 'idle') return
      phase = 'open'
      // Not the subscription: a source that emits at once must end before there is one.
      audio$.pipe(takeUntil(closed$)).subscribe({
        next: sink.chunk,
        complete: () => {
          if (!isOver()) sink.end()
        },
        error: (error: unknown) => {
          if (!isOver()) sink.fail(error)
        },
      })
    },
    close: () => {
      phase = 'over'
      closed$.next(undefined)
    },
  }
}

const pulled = (open: () => Puller<Uint8Array>, sink: AudioSink): AudioFeed => {
  let puller: Puller<Uint8Array> | undefined
  let phase: 'idle' | 'pulling' | 'over' = 'idle'
  const isOver = (): boolean => phase === 'over'
  const pull = async (): Promise<void> => {
    try {
      puller ??= open()
      while (sink.wanted()) {
        const answer = puller.next()
        const result = isPromiseLike(answer) ? await answer : answer
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
      release(puller ?? open)
    },
  }
}

/** A source that was never asked is let go of too: it may hold a file open. */
const release = (puller: Puller<Uint8Array> | (() => Puller<Uint8Array>)): void => {
  try {
    const opened = typeof puller === 'function' ? puller() : puller
    opened.release()
  } catch {
    // Such as a Web stream that another reader has locked: then it is not ours to cancel.
  }
}
