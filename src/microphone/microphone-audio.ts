import { BehaviorSubject, defer, distinctUntilChanged, finalize, Observable, Subject, tap } from 'rxjs'
import type { AudioFormat } from '../audio/format.js'
import { samplesOf } from '../audio/pcm.js'

/**
 * `idle` without a subscription, `requesting` until the user has allowed the device and it is open, `live` while it
 * records; `muted` while the device or the system mutes it, `suspended` while the browser does not run audio.
 */
export type MicrophoneState = 'idle' | 'requesting' | 'suspended' | 'muted' | 'live'

/** How loud 20 ms of all channels are; 1 is the loudest sample. */
export interface MicrophoneLevel {
  /** The root mean square of the samples, from 0 to 1. */
  readonly rms: number
  /** The loudest sample, from 0 to 1; at 1 the audio is clipped. */
  readonly peak: number
}

/** Audio of a microphone, which is recorded for each subscription. */
export interface Microphone extends Observable<Uint8Array> {
  /** The format of the audio: PCM with the sample rate and channels of the options. */
  readonly format: AudioFormat
  /** The level of each piece of audio. It records nothing itself: it emits while the audio is subscribed to. */
  readonly levels$: Observable<MicrophoneLevel>
  /** The present state, then each change, of the latest subscription of the audio. It never completes. */
  readonly state$: Observable<MicrophoneState>
}

export type ReportState = (state: MicrophoneState) => void

const levelOf = (bytes: Uint8Array): MicrophoneLevel => {
  const samples = samplesOf(bytes)
  let sum = 0
  let peak = 0
  for (const sample of samples) {
    sum += sample * sample
    peak = Math.max(peak, Math.abs(sample))
  }
  return { rms: Math.sqrt(sum / samples.length) / 32_768, peak: Math.min(1, peak / 32_767) }
}

/** A microphone from a function that records: it is called for each subscription. */
export const createMicrophone = (
  format: AudioFormat,
  record: (report: ReportState) => Observable<Uint8Array>,
): Microphone => {
  const levels$ = new Subject<MicrophoneLevel>()
  const state$ = new BehaviorSubject<MicrophoneState>('idle')
  let latest = 0
  const audio$ = defer(() => {
    latest += 1
    const own = latest
    const report: ReportState = (state) => {
      if (own === latest) state$.next(state)
    }
    report('requesting')
    return record(report).pipe(
      tap((bytes) => {
        if (levels$.observed) levels$.next(levelOf(bytes))
      }),
      finalize(() => report('idle')),
    )
  })
  return Object.assign(new Observable<Uint8Array>((subscriber) => audio$.subscribe(subscriber)), {
    format,
    levels$: levels$.asObservable(),
    state$: state$.pipe(distinctUntilChanged()),
  })
}
