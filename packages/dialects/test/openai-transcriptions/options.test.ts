import { describe, expect, it } from 'vitest'
import { SpeechError } from '../../../../src/errors/speech-error.js'
import { refuseAsOpenAi } from '../../src/openai-errors/openai-error.js'
import { fieldRows, readOptions } from '../../src/openai-transcriptions/options.js'

const read = (fields: Readonly<Record<string, string | readonly string[]>>) =>
  readOptions(new Map(Object.entries({ model: 'm', ...fields }).map(([name, value]) => [name, [value].flat()])))

describe('the fields of a transcription', () => {
  it('have defaults', () => {
    expect(read({})).toEqual({
      model: 'm',
      format: 'json',
      granularities: ['segment'],
      isStreamed: false,
      parameters: {},
    })
  })

  it('become parameters of the recognition', () => {
    expect(read({ language: 'en-US', 'keywords[]': ['Ada Lovelace', 'Babbage'] }).parameters).toEqual({
      language: 'en-US',
      phrases: ['Ada Lovelace', 'Babbage'],
    })
    expect(read({ 'languages[]': 'de' }).parameters).toEqual({ language: 'de' })
  })

  it.each([
    ['temperature', '0'],
    ['stream', 'false'],
    ['chunking_strategy', 'auto'],
    ['prompt', ''],
    ['language', ''],
  ])('may be what changes nothing: %s=%j', (name, value) => {
    expect(read({ [name]: value }).parameters).toEqual({})
  })

  it.each([
    ['temperature', '0.4'],
    ['stream', 'yes'],
    ['prompt', 'Names: Ada'],
    ['include[]', 'logprobs'],
    ['known_speaker_names[]', 'Ada'],
    ['language', 'a language'],
    ['languages[]', ['en', 'de']],
    ['response_format', ['json', 'text']],
    ['response_format', 'constructor'],
    ['model[]', 'm'],
    ['__proto__x', '1'],
    ['toString', '1'],
  ])('are refused by their name: %s=%j', (name, value) => {
    expect(() => read({ [name]: value })).toThrow(name.replace('[]', ''))
  })

  it.each([
    { keywords: 'Ada', 'keywords[]': 'Babbage' },
    { language: 'en', 'languages[]': 'de' },
    { 'timestamp_granularities[]': 'word', timestamp_granularities: 'segment', response_format: 'verbose_json' },
  ])('have one name, so that none replaces another: %j', (fields) => {
    expect(() => read(fields)).toThrow(/^Send \w+ under one name: /)
  })

  it('are refused with what is supported', () => {
    const sentence = 'prompt is not supported here (supported: empty); omit it.'
    expect(() => read({ prompt: 'Ada' })).toThrow(sentence)
  })

  it('may ask for events, which have no other format', () => {
    expect(read({ stream: 'true' }).isStreamed).toBe(true)
    expect(() => read({ stream: 'true', response_format: 'srt' })).toThrow('stream=true needs response_format=json.')
  })

  it.each([
    ['language "xx" is none of this model; choose one of en.', 'language'],
    ['phrases are not supported by this model; omit them.', 'keywords'],
  ])('that the engine refuses are named by their field: %s', (message, name) => {
    const refusal = refuseAsOpenAi(new SpeechError('invalid-field', message))
    expect(refusal?.status).toBe(400)
    expect(JSON.parse(refusal?.body ?? '')).toMatchObject({
      error: { param: name, message: message.replace('phrases', 'keywords') },
    })
  })

  it('name a model', () => {
    expect(() => read({ model: '' })).toThrow('Name a model.')
  })

  it('say what the service makes of them', () => {
    for (const { support } of Object.values(fieldRows)) expect(support).not.toBe('')
  })
})
