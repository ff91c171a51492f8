import {
  asyncScheduler,
  catchError,
  concat,
  connect,
  defer,
  EMPTY,
  finalize,
  map,
  merge,
  of,
  Subject,
  tap,
  type Observable,
  type SchedulerLike,
  type Unsubscribable,
} from 'rxjs'
import {
  ledger,
  metrics,
  recognize,
  type RecognitionOptions,
  type SessionEvent,
  type SocketClass,
  type Token,
  type TokenSource,
} from 'rxspeech'
import { sampleClock } from 'rxspeech/audio'
import type { AudioTrack } from './audio-track.js'
import { failureOf } from '../state/sentences.js'
import { chunksOf, started, type Source } from './sources.js'
import type { SessionInput, StudioInput } from '../state/state.js'

export interface SessionSettings {
  readonly url: string
  readonly model: string
  readonly tenant?: string | undefined
  readonly recognition: RecognitionOptions
  readonly token: TokenSource
  /** Gets the tokens that the service refused. */
  readonly rejected$?: Subject<Pick<Token, 'accessToken'>> | undefined
  readonly source: Source
  /** One for each channel; those of the source itself, if it is a recording. */
  readonly tracks: readonly AudioTrack[]
  readonly socketClass: (channel: number | undefined) => SocketClass
  readonly finalize$: Observable<unknown>
  readonly stop$: Observable<unknown>
  /** Another clock, for cassettes; attempts to reconnect then do not wait. */
  readonly scheduler?: SchedulerLike
}

/** A recording is read before its text comes, and a busy service then needs minutes; a person can cancel it. */
const recordingFinalizeMs = 600_000

/** A session and what a person can ask of it. */
export interface StudioSession {
  /** Runs the session; ends with the input `ended`. */
  readonly inputs$: Observable<StudioInput>
  /** The captured audio in milliseconds, or that which was read of a recording. */
  readonly audioMs: () => number
  readonly isMuted: () => boolean
  /** Replaces the audio from now on by silence. */
  readonly mute: (durationMs: number) => StudioInput
}

/** One session of `recognize` for each channel, because a socket carries one, joined as one. */
export const createSession = (settings: SessionSettings): StudioSession => {
  const { source, tracks, scheduler = asyncScheduler } = settings
  const format = { encoding: 'pcm', sampleRateHz: source.sampleRateHz, channels: 1 } as const
  const clock = sampleClock({ format, scheduler })
  const isStereo = source.channels.length > 1
  const failed$ = new Subject<void>()
  const startMs = scheduler.now()
  let mutedUntilMs = 0
  const readMs = tracks.map(() => 0)
  const audioMs = (): number => (source.type === 'live' ? (tracks[0]?.durationMs ?? 0) : Math.max(0, ...readMs))
  const isMuted = (): boolean => audioMs() < mutedUntilMs

  const chunks$ = started(
    (source.type === 'live' ? source.chunks$ : EMPTY).pipe(
      map((chunks) => (isMuted() ? chunks.map(({ length }) => new Uint8Array(length)) : chunks)),
      tap((chunks) => {
        for (const [channel, bytes] of chunks.entries()) tracks[channel]?.add(bytes)
      }),
    ),
  )

  /** Where an event stands on the timeline: a recording is read long before its results arrive. */
  const positionOf = (event: SessionEvent): number =>
    source.type === 'recorded' && 'endMs' in event && typeof event.endMs === 'number' ? event.endMs : audioMs()

  const sessionOf = (channel: number): Observable<SessionInput> => {
    const track = source.type === 'recorded' ? source.tracks[channel] : undefined
    const captured$ = (): Observable<Uint8Array> => {
      const audio$ = chunks$.pipe(map((chunks) => chunks[channel] ?? new Uint8Array()))
      return channel === 0 ? audio$.pipe(clock.count()) : audio$
    }
    const session = recognize({
      url: settings.url,
      model: settings.model,
      tenant: settings.tenant,
      ...settings.recognition,
      token: settings.token,
      rejected$: settings.rejected$,
      format,
      finalize$: settings.finalize$,
      stop$: merge(settings.stop$, failed$),
      presentToken: 'subprotocol',
      ...(track !== undefined && { timeouts: { finalizeMs: recordingFinalizeMs } }),
      WebSocket: settings.socketClass(isStereo ? channel : undefined),
      testing: settings.scheduler === undefined ? {} : { scheduler, random: () => 0 },
    })
    const events$ =
      track === undefined ? session(captured$()) : session(chunksOf(track, (ms) => (readMs[channel] = ms)))
    return events$.pipe(
      map((event) => ({
        type: 'event',
        event: isStereo ? { ...event, channel } : event,
        channel,
        atMs: scheduler.now() - startMs,
        audioMs: positionOf(event),
      })),
    )
  }

  const inputs$ = defer(() => {
    let failure: { readonly error: unknown } | undefined
    let capture: Unsubscribable | undefined
    const sessions = source.channels.map((_, channel) =>
      sessionOf(channel).pipe(
        catchError((error: unknown) => {
          failure ??= { error }
          // The other channel stops with it.
          failed$.next()
          return EMPTY
        }),
      ),
    )
    const capture$ = defer(() => {
      capture = chunks$.connect()
      return EMPTY
    })
    const end$ = defer(() =>
      of<StudioInput>({
        type: 'ended',
        atMs: scheduler.now() - startMs,
        audioMs: audioMs(),
        failure: failure === undefined ? undefined : failureOf(failure.error),
      }),
    )
    // The sessions subscribe to the audio before it starts.
    const events$ = merge(...sessions, capture$).pipe(finalize(() => capture?.unsubscribe()))
    return concat(events$.pipe(connect((input$) => merge(input$, figures(input$)))), end$)
  })

  const figures = (input$: Observable<SessionInput>): Observable<StudioInput> => {
    const event$ = input$.pipe(map(({ event }) => event))
    return merge(
      event$.pipe(
        ledger(),
        map(({ total, estimated }): StudioInput => ({ type: 'ledger', account: total, isEstimated: estimated })),
      ),
      event$.pipe(
        metrics({ clock, scheduler }),
        map(({ session }): StudioInput => ({ type: 'metrics', metrics: session })),
      ),
    )
  }

  return {
    inputs$,
    audioMs,
    isMuted,
    mute: (durationMs) => {
      const fromMs = audioMs()
      mutedUntilMs = fromMs + durationMs
      return { type: 'muted', fromMs, toMs: mutedUntilMs }
    },
  }
}
