import { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import {
  asyncScheduler,
  defer,
  EMPTY,
  from,
  ignoreElements,
  lastValueFrom,
  repeat,
  retry,
  throwError,
  timer,
  toArray,
  type Observable,
  type ObservableInput,
} from 'rxjs'
import { describe, expect, it } from 'vitest'
import { readWav } from '../../src/audio/read-wav.js'
import { wavHeader } from '../../src/audio/wav-header.js'
import { dataflow } from '../../src/client/dataflow/dataflow.js'
import { failover } from '../../src/client/failover/failover.js'
import { recognize } from '../../src/client/recognizer/recognize.js'
import type { Recognition } from '../../src/client/session.js'
import { SpeechError } from '../../src/errors/speech-error.js'
import type { DataflowMessage, Dial, SocketMessage } from '../../src/transport/link.js'
import { pace } from '../../src/operators/audio/pace.js'
import { joined } from '../audio/wav-bytes.js'
import { format, plainDataflow, plainRecognizer, scriptedService, type Answer } from './virtual-session.js'

type Source = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

const halves = [new Uint8Array(1600).fill(1), new Uint8Array(1600).fill(2)]

const onceReadable: Readonly<Record<string, () => Source | PromiseLike<Source>>> = {
  'the audio of readWav': async () =>
    (await readWav(Readable.from([joined(wavHeader(format, 3200), ...halves)]))).audio,
  'an iterator': () => halves.values(),
  async *'an async generator'() {
    await Promise.resolve()
    yield* halves
  },
  'a Node stream': () => Readable.from(halves),
  'a Web stream': () => ReadableStream.from(halves),
}

/** What befalls the first connections: they are refused, or the first is lost with its first audio. */
type Fault = 'refused' | 'lost' | 'none'

interface Setting {
  readonly recognition: Recognition
  readonly receivedBytes: () => number
}

const refused = new SpeechError('connection-failed', 'Nothing listens.')
const loses: Answer<never> = [0, new SpeechError('connection-lost', 'The connection broke.')]
/** Without resumption, so that the session does not survive the loss by itself. */
const optionsOf = (fault: Fault) =>
  ({ token: 'secret-token', format, ...(fault === 'lost' && { resumption: false }) }) as const

/** A service in memory whose first dials are refused. */
const dialOf = <Message extends SocketMessage | DataflowMessage>(
  service: { readonly dial: () => Dial<Message, Message> },
  fault: Fault,
): (() => Dial<Message, Message>) => {
  let refusals = fault === 'refused' ? 2 : 0
  return () => defer(() => (refusals-- > 0 ? throwError(() => refused) : service.dial()))
}

const overSocket = (fault: Fault, channels: 1 | 2 = 1): Setting => {
  let receivedBytes = 0
  const answers = plainRecognizer(0)
  const onMessage = (message: SocketMessage): unknown =>
    typeof message === 'string' || (receivedBytes += message.length)
  const service = scriptedService<SocketMessage>(
    asyncScheduler,
    fault === 'lost' ? [{ ...answers, audio: loses }, answers] : [answers],
    { onMessage },
  )
  const testing = { dial: dialOf(service, fault) }
  const recognition = recognize({
    ...optionsOf(fault),
    format: { ...format, channels },
    url: 'ws://localhost',
    model: 'm',
    testing,
  })
  return { recognition, receivedBytes: () => receivedBytes }
}

const overStream = (fault: Fault): Setting => {
  let receivedBytes = 0
  const answers = plainDataflow(0)
  const service = scriptedService<DataflowMessage>(
    asyncScheduler,
    fault === 'lost' ? [{ ...answers, audio: loses }, answers] : [answers],
    { onMessage: ({ binaryContent }) => (receivedBytes += binaryContent.length) },
  )
  const testing = { dial: dialOf(service, fault) }
  const recognition = dataflow({ ...optionsOf(fault), url: 'grpc://localhost:1', tenant: 't', project: 'p', testing })
  return { recognition, receivedBytes: () => receivedBytes }
}

const settings: Readonly<Record<string, (fault: Fault) => Setting>> = {
  recognize: overSocket,
  'recognize, two channels': (fault) => overSocket(fault, 2),
  dataflow: overStream,
}

describe.each(Object.entries(settings))('%s, subscribed again', (_name, settingOf) => {
  it.each(Object.entries(onceReadable))('sends all of %s when no attempt before it connected', async (_kind, make) => {
    const { recognition, receivedBytes } = settingOf('refused')
    const events = await lastValueFrom(recognition(await make()).pipe(retry(2), toArray()))
    expect(events).toContainEqual({ type: 'connection', state: 'done' })
    expect(receivedBytes()).toBe(3200)
  })

  it.each(Object.entries(onceReadable))('fails if an attempt before it has read from %s', async (_kind, make) => {
    const { recognition } = settingOf('lost')
    const session$ = recognition(await make()).pipe(retry(1))
    expect(await codeOf(lastValueFrom(session$))).toBe('already-started')
  })

  it.each(Object.entries(onceReadable))('fails if it has sent all of %s before', async (_kind, make) => {
    const { recognition, receivedBytes } = settingOf('none')
    const session$ = recognition(await make()).pipe(repeat(2))
    expect(await codeOf(lastValueFrom(session$))).toBe('already-started')
    expect(receivedBytes()).toBe(3200)
  })

  it('sends the audio of an array each time', async () => {
    const { recognition, receivedBytes } = settingOf('none')
    await lastValueFrom(recognition(halves).pipe(repeat(2)))
    expect(receivedBytes()).toBe(6400)
  })
})

/** Sources that look like new ones to each reader, and hold one that can be read once. */
const hidden: Readonly<Record<string, () => ObservableInput<Uint8Array>>> = {
  'an Observable of an iterator': () => from(halves.values()),
  'an Observable of a Node stream': () => from(Readable.from(halves)),
  'an iterable of an iterator': () => {
    const iterator = halves.values()
    return { subscribe: undefined, [Symbol.iterator]: () => ({ next: () => iterator.next() }) } as Iterable<Uint8Array>
  },
}

it.each(['an Observable of an iterator', 'an Observable of a Node stream'])(
  'two channels over sockets fail if they have sent all of %s before',
  async (kind) => {
    const { recognition, receivedBytes } = overSocket('none', 2)
    const session$ = recognition(hidden[kind]?.() ?? EMPTY).pipe(repeat(2))
    expect(await codeOf(lastValueFrom(session$))).toBe('already-started')
    expect(receivedBytes()).toBe(3200)
  },
)

describe.each([
  ['recognize', overSocket],
  ['dataflow', overStream],
] as const)('%s, subscribed again', (_name, settingOf) => {
  it.each(Object.entries(hidden))('fails if it has sent all of %s before', async (_kind, make) => {
    const { recognition, receivedBytes } = settingOf('none')
    expect(await codeOf(lastValueFrom(recognition(make()).pipe(repeat(2))))).toBe('already-started')
    expect(receivedBytes()).toBe(3200)
  })

  it('completes if the next recording has no audio, but lasts', async () => {
    let count = 0
    const audio$ = defer(() => ((count += 1) === 1 ? from(halves) : timer(50).pipe(ignoreElements())))
    const { recognition, receivedBytes } = settingOf('none')
    expect(await codeOf(lastValueFrom(recognition(audio$ as Observable<Uint8Array>).pipe(repeat(2))))).toBe('completed')
    expect(receivedBytes()).toBe(3200)
  })
})

it('fails when a paced source was read before, which pace begins with the session', async () => {
  const { recognition } = overSocket('lost')
  const session$ = recognition(pace({ format, speed: 10 })(halves.values())).pipe(retry(1))
  expect(await codeOf(lastValueFrom(session$))).toBe('already-started')
})

it('failover sends all of the audio when its services refused the attempt before', async () => {
  const [first, second] = [overSocket('refused'), overStream('refused')]
  const session$ = failover([first.recognition, second.recognition])(halves.values())
  await lastValueFrom(session$.pipe(retry(2)))
  expect(first.receivedBytes() + second.receivedBytes()).toBe(3200)
})

const codeOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'completed',
    (error: unknown) => (error as SpeechError).code,
  )
