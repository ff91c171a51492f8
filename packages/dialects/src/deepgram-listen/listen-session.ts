import { Subscription, type Unsubscribable } from 'rxjs'
import type { DialectClient, NamedModel } from 'rxspeech-server/listen/dialect'
import { PauseCounter } from 'rxspeech-server/sessions/back-pressure'
import { errorTable } from 'rxspeech/internal/errors/error-table'
import { SpeechError, toSpeechError } from 'rxspeech/internal/errors/speech-error'
import type { WavFormat } from 'rxspeech/internal/audio/wav-header'
import type { Link, SocketMessage } from 'rxspeech/internal/transport/link'
import { pacedSender } from '../conversation/paced-sender.js'
import { AudioHash } from './audio-hash.js'
import { AudioInput, WavHeaderInput, type WavStart } from './audio-input.js'
import { sentenceOf } from './deepgram-error.js'
import { ListenChannel, type ChannelListener } from './listen-channel.js'
import {
  configuredMessage,
  errorMessage,
  metadataOf,
  readControl,
  resultsMessage,
  speechStartedMessage,
  utteranceEndMessage,
  type ChannelIndex,
  type Segment,
} from './messages.js'
import type { ListenOptions } from './options.js'
import { SilenceWatch } from './silence-watch.js'
import { UtteranceEnd } from './utterance-end.js'

/** What a session needs of its client. */
export type ListenClient = Pick<DialectClient, 'converse' | 'requests' | 'scheduler' | 'sessionId' | 'signal'>

/** A socket of the Deepgram interface: the translator between its messages and a conversation for each channel. */
export class ListenSession {
  readonly #client: ListenClient
  readonly #model: NamedModel
  readonly #options: ListenOptions
  readonly #serving = new Subscription()
  readonly #hash = new AudioHash()
  readonly #createdMs: number
  readonly #watch: SilenceWatch
  readonly #pauses: PauseCounter
  #channels: readonly ListenChannel[] = []
  #utteranceEnds: readonly UtteranceEnd[] = []
  #audio: AudioInput | WavHeaderInput = new WavHeaderInput()
  #socket: Link<SocketMessage, SocketMessage> | undefined
  #send: ((message: string) => void) | undefined
  #state: 'open' | 'closing' | 'closed' = 'open'
  #failure: SpeechError | undefined

  private constructor(client: ListenClient, model: NamedModel, options: ListenOptions) {
    const { scheduler } = client
    this.#client = client
    this.#model = model
    this.#options = options
    this.#createdMs = scheduler.now()
    this.#watch = new SilenceWatch(scheduler)
    this.#pauses = new PauseCounter({
      pause: () => {
        this.#watch.pause()
        this.#socket?.pause()
      },
      resume: () => {
        this.#watch.resume()
        this.#socket?.resume()
      },
    })
    this.#serving.add(() => this.#end())
  }

  /** Begins the recognitions, if the format of the audio is known. Rejects with the reason if the service refuses them. */
  static async open(client: ListenClient, model: NamedModel, options: ListenOptions): Promise<ListenSession> {
    const session = new ListenSession(client, model, options)
    const { encoding, sampleRateHz, channels = 1 } = options
    if (encoding !== undefined && sampleRateHz !== undefined) {
      await session.#begin({ format: { encoding, sampleRateHz, channels }, stored: encoding })
    }
    return session
  }

  serve(socket: Link<SocketMessage, SocketMessage>): Unsubscribable {
    this.#socket = socket
    this.#send = pacedSender(socket, {
      pause: () => {
        for (const channel of this.#channels) channel.pause()
      },
      resume: () => {
        for (const channel of this.#channels) channel.resume()
      },
    })
    if (this.#failure !== undefined) this.#fail(this.#failure)
    this.#watch.start(
      () => this.#state === 'open' && this.#fail(silent(), 1011),
      () => this.#state === 'open' && this.#finishSilently(),
    )
    this.#serving.add(
      socket.incoming$.subscribe({
        next: (message) => this.#receive(message),
        error: (error: unknown) => this.#fail(toSpeechError(error, 'connection-lost', connectionLost)),
        complete: () => this.#end(),
      }),
    )
    return this.#serving
  }

  async #begin(wav: WavFormat, dataBytes?: number): Promise<void> {
    const { converse, signal } = this.#client
    const { isMultichannel, parameters, utteranceEndMs = Infinity } = this.#options
    const audio = new AudioInput(wav, isMultichannel, dataBytes)
    const request = {
      audioFormat: 'pcm',
      sampleRateHz: wav.format.sampleRateHz,
      modelName: this.#model.name,
      modelTenant: this.#model.tenant,
      gracefulSilenceThresholdMs: 0,
      ...parameters,
    } as const
    const indexes = Array.from({ length: audio.channelCount }, (_one, at): ChannelIndex => [at, audio.channelCount])
    this.#utteranceEnds = indexes.map(() => new UtteranceEnd(utteranceEndMs))
    this.#channels = indexes.map(
      (index) =>
        new ListenChannel({
          converse: () =>
            signal.aborted
              ? Promise.reject(new SpeechError('connection-lost', connectionLost))
              : converse({ reportsSpeech: true }),
          request,
          listener: this.#listenTo(index),
          source: this.#pauses.reason(),
        }),
    )
    this.#audio = audio
    await Promise.all(this.#channels.map((channel) => channel.open()))
  }

  #listenTo(index: ChannelIndex): ChannelListener {
    const [at] = index
    const { sendsSpeechStarted, sendsInterims, hasEndpoints } = this.#options
    return {
      speechStarted: (startMs) => {
        this.#utteranceEnds[at]?.speechStarted()
        if (sendsSpeechStarted && this.#state === 'open') this.#send?.(speechStartedMessage(index, startMs))
      },
      speechEnded: () => this.#utteranceEnds[at]?.speechEnded(),
      interim: (segment) => {
        if (sendsInterims && this.#state === 'open') this.#sendResult(index, segment, 'interim')
      },
      segment: (segment) => this.#sendResult(index, segment, hasEndpoints ? 'endpoint' : 'final'),
      failed: (error) => this.#fail(error),
    }
  }

  #sendResult(index: ChannelIndex, segment: Segment, kind: 'interim' | 'final' | 'endpoint' | 'finalize'): void {
    const lastWordEndMs = segment.text === '' ? undefined : (segment.words.at(-1)?.endMs ?? segment.endMs)
    if (kind === 'finalize') this.#utteranceEnds[index[0]]?.finalized(lastWordEndMs)
    else if (kind !== 'interim') this.#utteranceEnds[index[0]]?.final(lastWordEndMs)
    const { hasEndpoints, hasSpeakers } = this.#options
    const result = {
      isFinal: kind !== 'interim',
      isSpeechFinal: kind === 'endpoint' || (kind === 'finalize' && hasEndpoints),
      isFromFinalize: kind === 'finalize',
    }
    const context = { requestId: this.#client.sessionId, model: this.#model, hasSpeakers }
    this.#send?.(resultsMessage(segment, index, result, context))
  }

  #receive(message: SocketMessage): void {
    if (this.#state !== 'open') return
    this.#watch.received(typeof message === 'string' || message.length === 0 ? 'message' : 'audio')
    if (typeof message === 'string') this.#onControl(message)
    // As an older version of the interface ends.
    else if (message.length === 0) this.#closeStream()
    else this.#onAudio(message)
  }

  #onControl(text: string): void {
    const { requests } = this.#client
    if (requests.take(text.length) !== 'handle') {
      this.#fail(requests.refusal())
      return
    }
    const message = readControl(text)
    switch (message.type) {
      case 'KeepAlive':
        return
      case 'Finalize':
        this.#finalize()
        return
      case 'CloseStream':
        this.#closeStream()
        return
      case 'Configure':
        this.#send?.(configuredMessage(this.#client.sessionId, message))
        return
      case 'unreadable':
        this.#fail(new SpeechError('unknown-message', message.sentence))
    }
  }

  #onAudio(bytes: Uint8Array): void {
    this.#hash.update(bytes)
    if (this.#audio instanceof AudioInput) {
      this.#pushAudio(this.#audio, bytes)
      return
    }
    try {
      const header = this.#audio.push(bytes)
      if (header !== undefined) this.#beginAfterHeader(header)
      else this.#countShort()
    } catch (error) {
      this.#fail(toSpeechError(error, 'internal', errorTable.internal.help))
    }
  }

  #beginAfterHeader({ wav, dataBytes, samples }: WavStart): void {
    const pause = this.#pauses.reason()
    pause.pause()
    this.#begin(wav, dataBytes).then(
      () => {
        if (this.#audio instanceof AudioInput) this.#pushAudio(this.#audio, samples)
        pause.resume()
      },
      (error: unknown) => this.#fail(toSpeechError(error, 'internal', errorTable.internal.help)),
    )
  }

  #pushAudio(audio: AudioInput, bytes: Uint8Array): void {
    const samples = audio.push(bytes)
    // The conversation counts all others.
    if (samples[0]?.length === 0) this.#countShort()
    for (let at = 0; at < samples.length; at += 1) {
      const channel = this.#channels[at]
      const part = samples[at]
      if (channel === undefined || part === undefined) return
      channel.push(part)
      if (this.#options.utteranceEndMs === undefined) continue
      const lastWordEndMs = this.#utteranceEnds[at]?.due(channel.positionMs)
      if (lastWordEndMs !== undefined) this.#send?.(utteranceEndMessage([at, this.#channels.length], lastWordEndMs))
    }
  }

  #countShort(): void {
    const tooMany = this.#client.requests.takeShort()
    if (tooMany !== undefined) this.#fail(tooMany)
  }

  /** Every channel answers, also without an open segment. */
  #finalize(): void {
    this.#finish((index, segment, positionMs) => {
      const empty = { startMs: positionMs, endMs: positionMs, text: '', words: [], confidence: 0 }
      this.#sendResult(index, segment ?? empty, 'finalize')
    })
  }

  /** A client may leave at the first message that follows, so there is one result for each channel at most. */
  #closeStream(): void {
    try {
      if (this.#audio instanceof WavHeaderInput) this.#audio.end()
    } catch (error) {
      this.#fail(toSpeechError(error, 'internal', errorTable.internal.help))
      return
    }
    this.#state = 'closing'
    const { hasEndpoints } = this.#options
    const received = {
      createdMs: this.#createdMs,
      durationMs: this.#channels[0]?.positionMs ?? 0,
      channels: this.#channels.length,
    }
    this.#finish(
      (index, segment) => {
        if (segment !== undefined) this.#sendResult(index, segment, hasEndpoints ? 'endpoint' : 'final')
      },
      () => {
        const metadata = metadataOf(this.#client.sessionId, { ...received, sha256: this.#hash.digest() })
        this.#send?.(JSON.stringify({ type: 'Metadata', ...metadata }))
        this.#socket?.close()
        this.#end()
      },
    )
  }

  /** Completes the results of the audio so far. What the client sends meanwhile waits, so that no audio is lost. */
  #finish(
    onSegment: (index: ChannelIndex, segment: Segment | undefined, positionMs: number) => void,
    onFinished?: () => void,
  ): void {
    const pause = this.#state === 'open' ? this.#pauses.reason() : undefined
    pause?.pause()
    let pending = this.#channels.length
    const finished = (): void => {
      pause?.resume()
      onFinished?.()
    }
    if (pending === 0) finished()
    for (const [at, channel] of this.#channels.entries()) {
      channel.finish((segment) => {
        onSegment([at, this.#channels.length], segment, channel.positionMs)
        pending -= 1
        if (pending === 0) finished()
      })
    }
  }

  /** The service ends a recognition without audio soon, which might cross the next audio. */
  #finishSilently(): void {
    const { hasEndpoints } = this.#options
    this.#finish((index, segment) => {
      if (segment !== undefined) this.#sendResult(index, segment, hasEndpoints ? 'endpoint' : 'final')
    })
  }

  /** 1011 is for what another attempt may mend. It is never 1000, which means that all results were sent. */
  #fail(error: SpeechError, closeCode = error.retryable ? 1011 : 1008): void {
    if (this.#state === 'closed') return
    this.#failure = error
    if (this.#socket === undefined) return
    const { code } = error
    const message = sentenceOf(error)
    this.#send?.(errorMessage(this.#client.sessionId, variantOf(error), message))
    this.#socket.close({ code, message, closeCode })
    this.#end()
  }

  #end(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#watch.stop()
    for (const channel of this.#channels) channel.close()
    this.#serving.unsubscribe()
  }
}

const variantOf = ({ code }: SpeechError): string => (code === 'unknown-message' ? 'SchemaError' : code)

const silent = (): SpeechError =>
  new SpeechError('refused', 'No audio and no message arrived for 10 s; send KeepAlive while there is no audio.')

const connectionLost = 'The connection broke.'
