import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { closedAfterEach } from './started.js'
import { openListen, openSocket, sendAll, speech } from './raw-client.js'

const start = closedAfterEach()

const closeStream = { type: 'CloseStream' }

describe('a stand-in of Deepgram', () => {
  it('sends interim and final results, as their audio arrives, and ends with 1000', async () => {
    const vendor = await start({ dialect: 'deepgram', script: ['seven of clubs', 'nine'] })
    const client = await openListen(vendor, '&interim_results=true')
    sendAll(client, [...speech(1_300)])
    await client.until('final seven of clubs')
    sendAll(client, [...speech(700), { type: 'Finalize' }, closeStream])
    await client.until('closed 1000')
    expect(client.log).toEqual([
      'open',
      'interim seven',
      'interim seven of',
      'interim seven of clubs',
      'final seven of clubs',
      'interim nine',
      'final nine',
      'final finalized ',
      'Metadata',
      'closed 1000',
    ])
    const audio = Buffer.concat([...speech(1_300), ...speech(700)])
    const [session] = vendor.sessions
    expect(session?.audio.sha256).toBe(createHash('sha256').update(audio).digest('hex'))
    expect(session?.audio.finalizes.map(({ sample }) => sample)).toEqual([16_000])
    expect(session?.messages.received).toBe(22)
  })
})

describe('a stand-in of OpenAI', () => {
  it('transcribes each commit of a realtime session with the next text', async () => {
    const until = 'finalize' as const
    const vendor = await start({
      dialect: 'openai',
      script: [
        { text: 'seven of clubs', until },
        { text: 'nine', until },
      ],
    })
    const client = openSocket(vendor, '/v1/realtime?intent=transcription')
    await client.until('session.created')
    const pcm = new Uint8Array(48_000)
    const append = { type: 'input_audio_buffer.append', audio: Buffer.from(pcm).toString('base64') }
    const session = {
      type: 'transcription',
      audio: {
        input: {
          format: { type: 'audio/pcm', rate: 24_000 },
          transcription: { model: 'gpt-transcribe' },
          turn_detection: null,
        },
      },
    }
    sendAll(client, [{ type: 'session.update', session }, append, { type: 'input_audio_buffer.commit' }])
    await client.until('conversation.item.input_audio_transcription.completed seven of clubs')
    sendAll(client, [append, { type: 'input_audio_buffer.commit' }])
    await client.until('conversation.item.input_audio_transcription.completed nine')
    expect(vendor.sessions[0]?.audio).toMatchObject({ sampleRateHz: 24_000, samples: 48_000 })
  })
})
