import { of, Subject, tap, type Observable } from 'rxjs'
import type { RecognitionOptions, Token } from 'rxspeech'
import { parseCassette } from './cassette/cassette-lines.js'
import { playCassette, type PlayedCassette } from './cassette/cassette-player.js'
import { SocketRecorder } from './cassette/socket-recorder.js'
import { AudioTrack } from './session/audio-track.js'
import { pageTokens, type Model, type StudioConfig } from './session/config.js'
import { createSession, type StudioSession } from './session/session.js'
import type { Source } from './session/sources.js'
import { TextLog } from './session/text-log.js'

/** What the page has of the session that runs or ran last, or of an opened cassette, besides its state. */
export interface Run {
  readonly tracks: readonly AudioTrack[]
  /** All events, one JSON text a line. */
  readonly events: TextLog
  /** The lines of the cassette; a long session has none. */
  readonly cassette: TextLog
  /** The session, unless a cassette was opened. */
  readonly live?: LiveSession
  readonly played?: PlayedCassette
}

interface LiveSession extends StudioSession {
  /** Closes the connections, as a network that fails would. */
  readonly cut: () => void
}

interface RunSettings {
  readonly config: StudioConfig
  readonly model: Model
  readonly source: Source
  readonly recognition: RecognitionOptions
  /** The token that a person entered, for a service that gives none to pages. */
  readonly token: string
  readonly finalize$: Observable<unknown>
  readonly stop$: Observable<unknown>
  readonly tokenTaken: (expiresAtMs: number) => void
}

/** Of 16-bit audio at 16 kHz, half an hour. */
const maxCassetteLength = 80_000_000

/** A session that keeps its audio, its events and its messages. It runs when its `inputs$` are subscribed to. */
export const createRun = (settings: RunSettings): Run & { readonly live: LiveSession } => {
  const { config, model, source, recognition, token, finalize$, stop$, tokenTaken } = settings
  const { sampleRateHz, channels } = source
  const tracks = source.type === 'recorded' ? source.tracks : channels.map(() => new AudioTrack(sampleRateHz))
  const [events, cassette] = [new TextLog(), new TextLog(maxCassetteLength)]
  const startMs = performance.now()
  const recorder = new SocketRecorder(
    { format: { encoding: 'pcm', sampleRateHz, channels: channels.length }, startedAt: new Date().toISOString() },
    (line) => cassette.add(line),
    () => performance.now() - startMs,
  )
  const rejected$ = new Subject<Pick<Token, 'accessToken'>>()
  const session = createSession({
    url: config.ws,
    model: model.name,
    tenant: model.tenant,
    recognition: { ...recognition, modelVersion: model.version === '' ? undefined : model.version },
    token: config.token === null ? of(token) : pageTokens(config.token, rejected$, tokenTaken),
    rejected$,
    source,
    tracks,
    socketClass: (channel) => recorder.socketClass(channel),
    finalize$,
    stop$,
  })
  const inputs$ = session.inputs$.pipe(
    tap((input) => {
      if (input.type === 'ended') recorder.end(input.failure === undefined ? 'complete' : 'error')
      if (input.type !== 'event') return
      events.add(JSON.stringify({ ...input.event, channel: input.channel, atMs: Math.round(input.atMs) }))
      if (input.event.type === 'partial') tracks[input.channel]?.partials.add(input.audioMs)
    }),
  )
  return { tracks, events, cassette, live: { ...session, inputs$, cut: () => void recorder.cut() } }
}

/** Plays a cassette. Rejects with an Error whose message says what to do. */
export const openCassette = async (file: File): Promise<Run & { readonly played: PlayedCassette }> => {
  const text = await file.text()
  const played = await playCassette(parseCassette(text), file.name)
  const [events, cassette] = [new TextLog(), new TextLog()]
  for (const { input } of played.inputs) if (input.type === 'event') events.add(JSON.stringify(input.event))
  cassette.add(text.trimEnd())
  return { tracks: played.tracks, events, cassette, played }
}
