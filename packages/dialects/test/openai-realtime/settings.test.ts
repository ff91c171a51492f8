import { describe, expect, it } from 'vitest'
import { eventRows, readClientEvent } from '../../src/openai-realtime/client-event.js'
import { settingRows, updateSettings } from '../../src/openai-realtime/setting-rows.js'
import { defaultSettings, recognizeRequestOf, sessionOf } from '../../src/openai-realtime/settings.js'

/** A session that has only this setting, and a `turn_detection` that it needs. */
const nested = (name: string, value: unknown): Readonly<Record<string, unknown>> => {
  const [head = '', ...rest] = name.split('.')
  return { [head]: rest.length === 0 ? value : nested(rest.join('.'), value) }
}

const update = (name: string, value: unknown) => updateSettings(defaultSettings, nested(name, value))

const format = (type: string, rate?: number) => ({ audio: { input: { format: { type, rate } } } })

/** Of each setting, values that are taken and that are refused. */
const examples: Readonly<Record<string, { readonly taken: readonly unknown[]; readonly refused: readonly unknown[] }>> =
  {
    type: { taken: ['transcription', 'realtime'], refused: ['translation', null] },
    'audio.input.format.type': { taken: ['audio/pcm', 'audio/pcmu', 'audio/pcma'], refused: ['audio/opus', 1] },
    'audio.input.format.rate': { taken: [24_000, 16_000], refused: [7_999, 48_001, '24000'] },
    'audio.input.noise_reduction': { taken: [null], refused: [{ type: 'near_field' }] },
    'audio.input.transcription.model': { taken: ['m'], refused: ['', 3] },
    'audio.input.transcription.language': { taken: ['en', 'de-AT', null], refused: ['a language', ['en']] },
    'audio.input.transcription.languages': { taken: [['en'], [], null], refused: [['en', 'de'], 'en'] },
    'audio.input.transcription.keywords': { taken: [['Ada'], [], null], refused: ['Ada', [1], Array(101).fill('a')] },
    'audio.input.transcription.prompt': { taken: ['', null], refused: ['Names: Ada'] },
    'audio.input.transcription.delay': { taken: ['minimal', 'xhigh', null], refused: ['none', 5] },
    'audio.input.turn_detection': { taken: [null], refused: ['server_vad', []] },
    'audio.input.turn_detection.type': { taken: ['server_vad', 'semantic_vad'], refused: ['none'] },
    'audio.input.turn_detection.threshold': { taken: [0, 0.5, 1], refused: [-0.1, 1.1, '0.5'] },
    'audio.input.turn_detection.prefix_padding_ms': { taken: [0, 5_000], refused: [-1, 5_001, 0.5] },
    'audio.input.turn_detection.silence_duration_ms': { taken: [50, 60_000], refused: [49, 60_001] },
    'audio.input.turn_detection.eagerness': { taken: ['auto', null], refused: ['high'] },
    'audio.input.turn_detection.idle_timeout_ms': { taken: [null], refused: [5_000] },
    'audio.input.turn_detection.create_response': { taken: [true, false, null], refused: [] },
    'audio.input.turn_detection.interrupt_response': { taken: [true, false, null], refused: [] },
    include: { taken: [[], null], refused: [['item.input_audio_transcription.logprobs'], '[]'] },
    'audio.output': { taken: [{ format: { type: 'audio/pcm', rate: 24_000 }, speed: 1 }], refused: [] },
    instructions: { taken: ['Be brief.'], refused: [] },
    model: { taken: ['gpt-realtime'], refused: [] },
    output_modalities: { taken: [['audio']], refused: [] },
    tracing: { taken: ['auto', null], refused: [{ workflow_name: 'w' }] },
  }

describe('the settings of a session', () => {
  it('have examples each', () => {
    expect(Object.keys(examples)).toEqual(Object.keys(settingRows))
  })

  it.each(Object.entries(examples))('have %s', (name, { taken, refused }) => {
    for (const value of taken) expect(() => update(name, value), JSON.stringify(value)).not.toThrow()
    for (const value of refused) {
      expect(() => update(name, value), JSON.stringify(value)).toThrow(
        expect.objectContaining({ param: `session.${name}` }),
      )
    }
  })

  it.each([
    ['tools', [], 'session.tools'],
    ['audio.input.gain', 2, 'session.audio.input.gain'],
    ['audio', 1, 'session.audio'],
    ['audio.input.transcription', null, 'session.audio.input.transcription'],
    ['toString', 1, 'session.toString'],
    ['constructor', {}, 'session.constructor'],
  ])('have no %s = %j', (name, value, param) => {
    expect(() => update(name, value)).toThrow(expect.objectContaining({ param }))
  })

  it('keep what is not sent', () => {
    const first = updateSettings(defaultSettings, {
      audio: { input: { turn_detection: { type: 'server_vad', threshold: 0.9, silence_duration_ms: 900 } } },
    })
    const second = updateSettings(first, { audio: { input: { turn_detection: { silence_duration_ms: 700 } } } })
    expect(second.voiceActivity).toEqual({ threshold: 0.9, prefix_padding_ms: 300, silence_duration_ms: 700 })
    expect(updateSettings(first, { type: 'transcription' })).toEqual(first)
  })

  it('are those of the first value when two contradict each other', () => {
    expect(() => updateSettings(defaultSettings, format('audio/pcmu', 24_000))).toThrow('is 8000')
    expect(updateSettings(defaultSettings, format('audio/pcmu', 8_000)).format.rate).toBe(8_000)
    const semantic = { audio: { input: { turn_detection: { threshold: 0.5, type: 'semantic_vad' } } } }
    expect(() => updateSettings(defaultSettings, semantic)).toThrow('needs a turn_detection of type server_vad')
  })

  it('become parameters of the recognition', () => {
    const model = { tenant: 'Acme', name: 'm' }
    const own = { audioFormat: 'pcm', modelName: 'm', modelTenant: 'Acme', gracefulSilenceThresholdMs: 0 }
    expect(recognizeRequestOf({ ...defaultSettings, turns: 'client' }, model)).toEqual({ ...own, sampleRateHz: 24_000 })
    expect(recognizeRequestOf(defaultSettings, model)).toEqual({
      ...own,
      sampleRateHz: 24_000,
      sensitivity: 6,
      preSpeechBufferMs: 300,
      silenceTriggerMs: 500,
    })
  })

  it('are shown as a client may send them again', () => {
    const json = JSON.stringify(sessionOf('s', { ...defaultSettings, model: 'm' }))
    const { id: _id, object: _object, ...shown } = JSON.parse(json) as Readonly<Record<string, unknown>>
    expect(updateSettings({ ...defaultSettings, model: 'n' }, shown)).toEqual({ ...defaultSettings, model: 'm' })
  })
})

describe('the messages of a client', () => {
  const messages: Readonly<Record<string, object>> = {
    'session.update': { session: {} },
    'input_audio_buffer.append': { audio: 'AAA=' },
    'input_audio_buffer.commit': {},
    'input_audio_buffer.clear': {},
    'conversation.item.retrieve': { item_id: 'i' },
    'conversation.item.delete': { item_id: 'i' },
  }

  it.each(Object.entries(eventRows))('have %s', (type, { support }) => {
    const read = readClientEvent(JSON.stringify({ type, event_id: 'e', ...messages[type] }))
    expect(read.eventId).toBe('e')
    if (support.startsWith('no: ')) expect(read).toMatchObject({ error: { code: 'unsupported_event', param: 'type' } })
    else expect(read.type).not.toBe('unreadable')
  })

  it.each([
    ['{', 'invalid_message'],
    ['[]', 'invalid_message'],
    ['{}', 'missing_required_parameter'],
    ['{"type":1}', 'invalid_value'],
    ['{"type":"toString"}', 'invalid_value'],
    ['{"type":"session.update"}', 'invalid_value'],
    ['{"type":"input_audio_buffer.append"}', 'missing_required_parameter'],
    ['{"type":"input_audio_buffer.append","audio":"A"}', 'invalid_audio'],
    ['{"type":"input_audio_buffer.append","audio":"A*AA"}', 'invalid_audio'],
    ['{"type":"conversation.item.retrieve","item_id":5}', 'invalid_value'],
  ])('are refused with a sentence: %s', (message, code) => {
    const read = readClientEvent(message)
    expect(read).toMatchObject({ type: 'unreadable', error: { code } })
  })

  it.each([
    ['', 0],
    ['AA', 1],
    ['AA==', 1],
    ['AAA', 2],
    ['AAAA', 3],
    ['-_-_', 3],
  ])('may have the audio %j', (audio, length) => {
    expect(readClientEvent(JSON.stringify({ type: 'input_audio_buffer.append', audio }))).toMatchObject({
      audio: { length },
    })
  })
})
