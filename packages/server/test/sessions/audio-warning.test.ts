import { describe, expect, it } from 'vitest'
import { SessionWatch } from '../../src/monitor/session-watch.js'
import { noopMonitor, type AudioFault, type ServiceMonitor } from '../../src/monitor/service-monitor.js'
import { RateLimitedLog, sessionLog } from '../../src/operations/service-log.js'
import { ascii, callSpeakers, encoded, stereo, swapped } from '../../../../test/audio/sound-check/sounds.js'
import { audioWarningData } from '../../src/sessions/audio-warning.js'
import { audioOf, connectDataflow, scriptedNode, start, stop } from '../dataflow/dataflow-connection.js'
import {
  connectRecognizer,
  countedEngine,
  parsed,
  recognize,
  stopRecognition,
} from '../recognizer/recognizer-connection.js'
import { flushPromises, VirtualClock } from '../../../service/test/virtual-clock.js'

const oggHeader = Uint8Array.from([...ascii('OggS\0\x02'), 0, 0])
const oggMessage = 'The stream is a file (Ogg) and not samples; decode it and send the samples.'

const watched = (): { readonly watch: SessionWatch; readonly faults: AudioFault[] } => {
  const faults: AudioFault[] = []
  const monitor: ServiceMonitor = { ...noopMonitor, audioWarning: (_session, fault) => faults.push(fault) }
  return { watch: new SessionWatch({ monitor, interface: 'grpc', peer: '::1', now: () => 0 }), faults }
}

describe('a fault of the audio', () => {
  it('is an event of the recognizer, and known to the operator', async () => {
    const { watch, faults } = watched()
    const engine = countedEngine()
    const connection = connectRecognizer(() => Promise.resolve(engine), {}, undefined, watch)
    connection.send(recognize())
    await connection.receive()
    connection.send(oggHeader)
    const event = parsed(await connection.receive())
    expect(event).toEqual({
      'message-name': 'event',
      'recognition-id': event['recognition-id'],
      name: 'Audio Warning',
      channel: '0',
      'start-msec': '1',
      data: { Kind: 'file-header', Found: 'Ogg', Message: oggMessage },
    })
    expect(event['recognition-id']).not.toBe('')
    expect(faults).toEqual([{ kind: 'file-header', found: 'Ogg', channel: undefined }])
    connection.send(stopRecognition)
    await flushPromises()
  })

  it('is reported once for all recognitions of a connection, which have one source', async () => {
    const connection = connectRecognizer(() => Promise.resolve(countedEngine()))
    const seen: string[] = []
    for (let recognition = 0; recognition < 2; recognition++) {
      connection.send(recognize())
      await flushPromises()
      connection.send(oggHeader)
      connection.send(stopRecognition)
      await flushPromises()
      seen.push(...connection.since())
    }
    expect(seen.filter((message) => message === 'event')).toHaveLength(1)
    expect(seen.filter((message) => message.startsWith('recognize: Success'))).toHaveLength(2)
  })

  it('is an event of the dataflow stream, beside those of the nodes of any project', async () => {
    const node = scriptedNode()
    const { watch, faults } = watched()
    const connection = connectDataflow(node.open, {}, undefined, false, watch)
    connection.send(start(), audioOf(oggHeader))
    await flushPromises()
    const [, event] = connection.received.splice(0)
    expect(JSON.parse(event?.content ?? '')).toEqual({
      Name: 'Audio Warning',
      Channel: -2,
      StartMsec: 1,
      EndMsec: -1,
      GroupId: '',
      Tags: [],
      Data: { Kind: 'file-header', Found: 'Ogg', Message: oggMessage },
    })
    expect(faults).toEqual([{ kind: 'file-header', found: 'Ogg', channel: undefined }])
    // The audio reaches the project all the same, and the session goes on and ends as usual.
    expect(node.account.audio).toEqual([8])
    connection.send(stop)
    expect(await connection.ended).toBe('ok')
    expect(connection.faults).toEqual([])
  })

  it('names the channel of a stereo stream', async () => {
    const [left = new Int16Array()] = await callSpeakers()
    const speech = left.slice(8 * 800, 8 * 4000)
    const clipped = speech.map((sample) => Math.max(-32_768, Math.min(32_767, 20 * sample)))
    const bytes = stereo(new Int16Array(speech.length), clipped, 'pcm')
    const connection = connectDataflow(scriptedNode().open)
    connection.send(start({ Audio: { SampleRate: 8000, ChannelCount: 2, Encoding: 'pcm' } }))
    for (let at = 0; at < bytes.length; at += 640) connection.send(audioOf(bytes.subarray(at, at + 640)))
    await flushPromises()
    const events = connection.received.slice(1).map(({ content }) => JSON.parse(content) as Record<string, unknown>)
    expect(events).toMatchObject([{ Name: 'Audio Warning', Channel: 1, Data: { Kind: 'clipping' } }])
    const over = { kind: 'dead-channel', channel: 1, isOver: true, atMs: 40_000, message: 'It has a signal.' } as const
    expect(audioWarningData(over)).toEqual({ Kind: 'dead-channel', Over: true, Message: 'It has a signal.' })
    connection.send(stop)
    await connection.ended
  })

  it('is found in the samples, whatever the length of the messages', async () => {
    const [left = new Int16Array()] = await callSpeakers()
    const bytes = swapped(encoded(left.slice(8 * 800, 8 * 4000), 'pcm'))
    for (const length of [320, 4096]) {
      const connection = connectDataflow(scriptedNode().open)
      connection.send(start())
      for (let at = 0; at < bytes.length; at += length) connection.send(audioOf(bytes.subarray(at, at + length)))
      await flushPromises()
      expect(connection.since()).toEqual(['Start: success', 'Audio Warning'])
      connection.send(stop)
      await connection.ended
    }
  })

  it('is logged without audio', () => {
    const lines: unknown[] = []
    const logger = {
      log: (level: string, message: string, fields: unknown) => lines.push([level, message, fields]),
      close: () => undefined,
    }
    const limited = new RateLimitedLog({ logger, scheduler: new VirtualClock(), maxLinesPerMinute: 60 })
    const session = { sessionId: 's', interface: 'grpc', peer: '::1', tenant: 'Acme' } as const
    sessionLog(logger, limited).audioWarning(session, { kind: 'clipping', channel: 1 })
    expect(lines).toEqual([['info', 'Audio warning', { ...session, kind: 'clipping', channel: 1 }]])
  })
})
