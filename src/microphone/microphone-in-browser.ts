import {
  defer,
  distinctUntilChanged,
  filter,
  from,
  fromEvent,
  ignoreElements,
  isObservable,
  map,
  merge,
  Observable,
  of,
  startWith,
  switchMap,
  tap,
  throwIfEmpty,
  using,
} from 'rxjs'
import type { AudioFormat } from '../audio/format.js'
import { bytesOf } from '../audio/pcm.js'
import { SpeechError } from '../errors/speech-error.js'
import { failWithoutAudio } from './fail-without-audio.js'
import { loadWorklet } from './load-worklet.js'
import { mediaError } from './media-error.js'
import { createMicrophone, type Microphone, type ReportState } from './microphone-audio.js'
import { microphoneFormat, type MicrophoneOptions } from './microphone-options.js'
import type { WorkletOptions } from './worklet.js'

/** The name of the processor that `worklet.ts` registers. */
const processorName = 'rxspeech-microphone'
const audioTimeoutMs = 10_000
const noAudio = `The browser delivered no audio of the microphone for ${audioTimeoutMs / 1000} s; reload the page.`

/** `microphone` in a browser; see there. */
export const microphone = (options: MicrophoneOptions = {}): Microphone => {
  const format = microphoneFormat(options)
  return createMicrophone(format, (report) => {
    assertSupported()
    return openContext(options.workletUrl).pipe(
      switchMap(({ context, loaded }) => {
        const audio$ = openDevices(options, format).pipe(
          switchMap((stream) => recordStream(context, stream, loaded, format, report)),
        )
        return merge(audio$, from(loaded).pipe(ignoreElements()))
      }),
    )
  })
}

const assertSupported = (): void => {
  const refuse = (message: string): never => {
    throw new SpeechError('microphone-unsupported', message)
  }
  if (globalThis.document === undefined) {
    refuse('There is no microphone here; a page has one, and commandMicrophone in Node.')
  }
  if (!globalThis.isSecureContext) refuse('Browsers open a microphone only for pages with https, or of localhost.')
  if (globalThis.AudioWorkletNode === undefined || navigator.mediaDevices === undefined) {
    refuse('This browser cannot record a microphone with an AudioWorklet; use a current one.')
  }
}

interface OpenContext {
  readonly context: AudioContext
  readonly loaded: Promise<void>
}

/** Emits an audio context that loads the worklet, and closes it at the end. */
const openContext = (workletUrl: string | URL | undefined): Observable<OpenContext> =>
  new Observable((subscriber) => {
    // At its own sample rate: older versions of Firefox connect no device to a context of another one.
    const context = new AudioContext()
    subscriber.add(() => void context.close().catch(ignore))
    // Now, within the click of the user, and again when a device is open.
    context.resume().catch(ignore)
    subscriber.next({ context, loaded: loadWorklet(context, workletUrl) })
  })

const ignore = (): void => undefined

/** Emits the stream of each device in turn. Whoever receives a stream has to stop it. */
const openDevices = ({ deviceId, constraints }: MicrophoneOptions, format: AudioFormat): Observable<MediaStream> =>
  (isObservable(deviceId) ? deviceId : of(deviceId ?? '')).pipe(
    throwIfEmpty(() => new SpeechError('invalid-options', 'deviceId completed before it emitted a device.')),
    distinctUntilChanged(),
    switchMap((id) =>
      openStream({
        channelCount: { ideal: format.channels },
        ...constraints,
        ...(id !== '' && { deviceId: { exact: id } }),
        // With `undefined`, which browsers take as absent and the types do not.
      } as MediaTrackConstraints),
    ),
  )

const openStream = (audio: MediaTrackConstraints): Observable<MediaStream> =>
  new Observable((subscriber) => {
    navigator.mediaDevices.getUserMedia({ audio }).then(
      (stream) => {
        if (subscriber.closed) stopTracks(stream)
        subscriber.next(stream)
        subscriber.complete()
      },
      (error: unknown) => subscriber.error(mediaError(error)),
    )
  })

const stopTracks = (stream: MediaStream): void => {
  for (const track of stream.getTracks()) track.stop()
}

/** The audio of one device until it is unplugged. Stops the device at the end. */
const recordStream = (
  context: AudioContext,
  stream: MediaStream,
  loaded: Promise<void>,
  format: AudioFormat,
  report: ReportState,
): Observable<Uint8Array> =>
  using(
    () => ({ unsubscribe: () => stopTracks(stream) }),
    () => {
      const [track] = stream.getAudioTracks()
      if (track === undefined) throw mediaError(undefined)
      const state$ = merge(...stateEvents(context, track)).pipe(
        startWith(undefined),
        filter(() => context.state !== 'closed'),
        tap(() => {
          if (context.state !== 'running') context.resume().catch(ignore)
          report(context.state !== 'running' ? 'suspended' : track.muted ? 'muted' : 'live')
        }),
        ignoreElements(),
      )
      const pieces$ = recordPieces(context, stream, format).pipe(
        failWithoutAudio(audioTimeoutMs, noAudio, () => context.state === 'running'),
      )
      const ended$ = defer(() => (track.readyState === 'ended' ? of(undefined) : fromEvent(track, 'ended')))
      return from(loaded).pipe(switchMap(() => merge(state$, pieces$, ended$.pipe(map(failLost)))))
    },
  )

/** What changes the state, or gives a reason to resume a suspended context: browsers wait for a click or a key. */
const stateEvents = (context: AudioContext, track: MediaStreamTrack): readonly Observable<unknown>[] => [
  fromEvent(context, 'statechange'),
  fromEvent(track, 'mute'),
  fromEvent(track, 'unmute'),
  ...['pointerup', 'keydown', 'visibilitychange'].map((type) => fromEvent(document, type)),
]

const failLost = (): never => {
  throw new SpeechError('microphone-lost', 'The microphone was unplugged, or its permission ended; connect it again.')
}

const recordPieces = (
  context: AudioContext,
  stream: MediaStream,
  { sampleRateHz, channels }: AudioFormat,
): Observable<Uint8Array> =>
  new Observable((subscriber) => {
    const processorOptions: WorkletOptions = { sampleRateHz, channels }
    const node = new AudioWorkletNode(context, processorName, {
      numberOfInputs: 1,
      numberOfOutputs: 1,
      channelCount: channels,
      channelCountMode: 'explicit',
      processorOptions,
    })
    node.port.onmessage = ({ data }: MessageEvent<ArrayBuffer>) => subscriber.next(bytesOf(new Int16Array(data)))
    node.onprocessorerror = () =>
      subscriber.error(new SpeechError('source-failed', 'The worklet of the microphone failed; reload the page.'))
    const source = context.createMediaStreamSource(stream)
    source.connect(node)
    // Safari runs only nodes that lead to the loudspeakers. The node plays silence.
    node.connect(context.destination)
    return () => {
      node.port.onmessage = null
      node.port.postMessage('stop')
      source.disconnect()
      node.disconnect()
    }
  })
