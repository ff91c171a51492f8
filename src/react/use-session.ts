import { useCallback, useEffect, useRef, useState } from 'react'
import { defer, Subject, tap, throwError, type Observable, type ObservableInput } from 'rxjs'
import type { AudioFormat } from '../audio/format.js'
import type { RecognizeOptions } from '../client/recognizer/recognize-on.js'
import type { Recognition } from '../client/session.js'
import { SpeechError } from '../errors/speech-error.js'
import { notify } from '../kernel/notify.js'
import type { SessionEvent } from '../protocol/session-event.js'
import { isEndState } from '../protocol/states.js'
import type { TranscriptView } from './transcript-view.js'
import { useTranscript } from './use-transcript.js'

/** The options of `recognize`, without those that the hook sets. */
export interface UseSessionOptions extends Omit<RecognizeOptions, 'format' | 'finalize$' | 'stop$'> {
  /** The format of the audio. @default that of the microphone */
  readonly format?: AudioFormat | undefined
  /** Receives every event of the session. An exception is reported, and the session continues. @default none */
  readonly onEvent?: ((event: SessionEvent) => void) | undefined
}

/** Audio for a session; one with a format, such as a microphone, needs no `format` in the options. */
export type SessionAudio = ObservableInput<Uint8Array> & { readonly format?: AudioFormat }

/** A session with its controls, which stay the same functions. */
export interface SessionControls extends TranscriptView {
  /** Whether a session runs. */
  readonly isRunning: boolean
  /** Starts a session with the options of the last render. A session that runs is aborted. */
  readonly start: (audio: SessionAudio) => void
  /** Ends the audio; the last results follow. */
  readonly finalize: () => void
  /** Ends the session without its pending results. */
  readonly stop: () => void
}

interface Running {
  readonly session$: Observable<SessionEvent>
  readonly finalize$: Subject<void>
  readonly stop$: Subject<void>
}

type Recognize = (options: RecognizeOptions) => Recognition

/** `useSession` of a platform. */
export const createUseSession =
  (recognize: Recognize) =>
  (options: UseSessionOptions): SessionControls => {
    const latest = useRef(options)
    useEffect(() => {
      latest.current = options
    })
    const [running, run] = useState<Running>()
    const transcript = useTranscript(running?.session$)
    const start = useCallback((audio: SessionAudio) => run(open(recognize, audio, latest)), [])
    const finalize = useCallback(() => running?.finalize$.next(), [running])
    const stop = useCallback(() => running?.stop$.next(), [running])
    const isRunning = running !== undefined && !isEndState(transcript.state)
    return { ...transcript, isRunning, start, finalize, stop }
  }

const open = (recognize: Recognize, audio: SessionAudio, latest: { readonly current: UseSessionOptions }): Running => {
  const finalize$ = new Subject<void>()
  const stop$ = new Subject<void>()
  const { format = audio.format, onEvent: _latest, ...options } = latest.current
  const session$ = defer(() =>
    format === undefined
      ? throwError(() => new SpeechError('invalid-options', 'format is missing; give that of the audio.'))
      : recognize({ ...options, format, finalize$, stop$ })(audio),
  ).pipe(tap((event) => notify(() => latest.current.onEvent?.(event))))
  return { session$, finalize$, stop$ }
}
