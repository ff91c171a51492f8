import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { optionRows, readOptions } from '../../src/deepgram-listen/options.js'

const linear16 = 'model=m&encoding=linear16&sample_rate=8000'
const read = (query: string, kind: 'socket' | 'recording' = 'socket') => readOptions(new URLSearchParams(query), kind)
const base = read(linear16)

/** What clients send when their user sets nothing but the model. */
const sentByClients = {
  pipecat:
    'channels=1&detect_entities=false&diarize=false&dictation=false&encoding=linear16&interim_results=true&language=en&model=nova-3-general&multichannel=false&numerals=false&punctuate=true&sample_rate=16000&smart_format=false',
  'livekit for Node':
    'model=nova-3&punctuate=true&smart_format=true&dictation=false&diarize=false&numerals=false&no_delay=true&interim_results=true&encoding=linear16&vad_events=true&sample_rate=16000&channels=1&endpointing=25&filler_words=false&profanity_filter=false&language=en-US&mip_opt_out=false',
  'livekit for Python':
    'model=nova-3&punctuate=true&smart_format=false&no_delay=true&interim_results=true&encoding=linear16&vad_events=true&sample_rate=16000&channels=1&endpointing=25&filler_words=true&profanity_filter=false&numerals=false&mip_opt_out=false&language=en-US',
}

describe('the options of /v1/listen', () => {
  it.each(Object.entries(sentByClients))('may be those that %s sends by default', (_client, query) => {
    const options = read(query)
    expect(options).toMatchObject({ encoding: 'pcm', sampleRateHz: 16_000, channels: 1, sendsInterims: true })
    expect(options.parameters.silenceTriggerMs ?? 400).toBe(400)
  })

  it.each([
    ['encoding=mulaw', { encoding: 'ulaw' }],
    ['encoding=alaw', { encoding: 'alaw' }],
    ['sample_rate=44100', { sampleRateHz: 44_100 }],
    ['channels=2', { channels: 2 }],
    ['multichannel=true', { isMultichannel: true }],
    ['multichannel=true&diarize=true', { isMultichannel: true, hasSpeakers: true }],
    ['interim_results=true', { sendsInterims: true }],
    ['vad_events=true', { sendsSpeechStarted: true }],
    ['utterance_end_ms=1000', { utteranceEndMs: 1000 }],
    ['endpointing=false', { hasEndpoints: false }],
    ['endpointing=true', {}],
    ['endpointing=700', { parameters: { silenceTriggerMs: 700 } }],
    ['endpointing=10', { parameters: { silenceTriggerMs: 400 } }],
    ['language=de', { parameters: { language: 'de' } }],
    ['language=multi', { parameters: { language: 'auto' } }],
    ['keyterm=Ada%20Lovelace&keyterm=Babbage', { parameters: { phrases: ['Ada Lovelace', 'Babbage'] } }],
    ['model=nova-3', { model: 'nova-3' }],
    ['alternatives=1&detect_language=false&paragraphs=false&redact=false&version=latest', {}],
  ])('can be %s', (query, changes) => {
    const all = new URLSearchParams(linear16)
    for (const name of new URLSearchParams(query).keys()) all.delete(name)
    expect(read(`${all.toString()}&${query}`)).toEqual({ ...base, ...changes })
  })

  it('of a recording have utterances, and speakers without channels', () => {
    expect(read('model=m&utterances=true&diarize=true', 'recording')).toMatchObject({
      hasUtterances: true,
      hasSpeakers: true,
    })
  })

  it.each([
    ['encoding=opus&sample_rate=48000', 'encoding'],
    ['encoding=linear16', 'sample_rate'],
    ['sample_rate=16000', 'encoding'],
    [`${linear16}&sample_rate=192000`, 'sample_rate'],
    [`${linear16}&channels=3`, 'channels'],
    [`${linear16}&diarize=true`, 'multichannel'],
    [`${linear16}&interim_results=1`, 'interim_results'],
    [`${linear16}&utterance_end_ms=0`, 'utterance_end_ms'],
    [`${linear16}&endpointing=-1`, 'endpointing'],
    [`${linear16}&language=the%20language`, 'language'],
    [`${linear16}&language=en&language=de`, 'language'],
    [`${linear16}&numerals=true`, 'numerals'],
    [`${linear16}&redact=pci`, 'redact'],
    [`${linear16}&detect_language=true`, 'detect_language'],
    [`${linear16}&version=2024`, 'version'],
    [`${linear16}&keywords=Ada:2`, 'keyterm'],
    [`${linear16}&callback=http://example.com`, 'callback'],
    [`${linear16}&utterances=true`, 'utterances'],
    [`${linear16}&toString=1`, 'toString'],
    [`${linear16}&__proto__=1`, '__proto__'],
  ])('are refused by their name: %s', (query, name) => {
    expect(() => read(query)).toThrow(name)
  })

  it('of a socket are refused for a recording', () => {
    expect(() => read('model=m&interim_results=true', 'recording')).toThrow('interim_results')
  })

  it('are those of docs/DIALECTS.md', () => {
    const page = readFileSync('docs/DIALECTS.md', 'utf8')
    const [, table = ''] = /\| Option \| Of \| Supported \|\n(?:\| --- ){3}\|\n((?:\|.*\n)+)/.exec(page) ?? []
    const rows = Object.entries(optionRows).map(
      ([name, { support, only = 'both' }]) => `| \`${name}\` | ${only} | ${support} |\n`,
    )
    expect(table).toBe(rows.join(''))
  })
})
