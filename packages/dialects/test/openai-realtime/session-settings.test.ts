import { describe, expect, it } from 'vitest'
import { audio, byCommits, completed, openRealtime } from './realtime-client.js'

describe('the settings of a session', () => {
  it('are those of the address first, and are shown', async () => {
    const client = await openRealtime()
    expect(client.of('session.created')).toMatchObject([
      {
        session: {
          id: '01234567-89ab-cdef-0123-456789abcdef',
          object: 'realtime.transcription_session',
          audio: { input: { transcription: { model: 'm' }, turn_detection: { type: 'server_vad' } } },
        },
      },
    ])
  })

  it('change what was sent, and nothing else', async () => {
    const client = await openRealtime()
    client.update({ transcription: { language: 'de', keywords: ['Ada'] } })
    client.update({ turn_detection: { type: 'server_vad', threshold: 0.8 } })
    expect(client.of('session.updated')[1]).toMatchObject({
      session: {
        audio: {
          input: {
            format: { type: 'audio/pcm', rate: 24_000 },
            transcription: { model: 'm', language: 'de', keywords: ['Ada'] },
            turn_detection: { threshold: 0.8, silence_duration_ms: 500 },
          },
        },
      },
    })
    expect(client.log).toEqual(['recognize', 'finalize-recognition', 'recognize'])
    expect(client.requests.at(-1)).toMatchObject({ language: 'de', phrases: ['Ada'], sensitivity: 3 })
  })

  it('are shown again at once if nothing changes for the recognizer', async () => {
    const client = await openRealtime()
    client.update({})
    client.update({ noise_reduction: null })
    expect(client.of('session.updated')).toHaveLength(2)
    expect(client.log).toEqual(['recognize'])
  })

  it('stay as they were if the recognizer refuses them', async () => {
    const client = await openRealtime({
      answer: (request) =>
        request.request === 'recognize' && request.phrases !== undefined
          ? 'invalid-field: phrases[0] has a word that is unknown.'
          : 'Success',
    })
    client.update({ transcription: { keywords: ['qqq'] } }, { event_id: 'u1' })
    expect(client.of('error').map(({ error }) => error)).toMatchObject([
      {
        type: 'invalid_request_error',
        param: 'session.audio.input.transcription.keywords',
        message: 'keywords[0] has a word that is unknown.',
        event_id: 'u1',
      },
    ])
    client.append(audio)
    client.send('input_audio_buffer.commit')
    expect(client.of(completed)).toHaveLength(1)
    client.update({})
    expect(JSON.stringify(client.of('session.updated'))).not.toContain('qqq')
  })

  it('end an item of the client when the service divides the audio from then on', async () => {
    const client = await byCommits({ texts: ['before'] })
    client.append(audio)
    client.update({ turn_detection: { type: 'server_vad' } })
    expect(client.of(completed)).toMatchObject([{ transcript: 'before' }])
    expect(client.types().at(-1)).toBe('session.updated')
  })

  it('must name a model, which is one of the service, and may do that after the first audio', async () => {
    const client = await openRealtime({ query: '' })
    client.append(audio)
    client.append(audio)
    client.send('input_audio_buffer.commit')
    client.update({ transcription: { model: 'absent' } })
    expect(client.of('error').map(({ error }) => error)).toMatchObject([
      { code: 'missing_required_parameter', param: 'session.audio.input.transcription.model' },
      { code: 'model_not_found' },
    ])
    client.update({ turn_detection: null })
    expect(client.of('session.updated')).toHaveLength(1)
    client.update({ transcription: { model: 'n' } })
    client.send('input_audio_buffer.commit')
    expect(client.requests[0]).toMatchObject({ request: 'recognize', modelName: 'n' })
    expect(client.audio()).toHaveLength(2 * audio.length)
    expect(client.of(completed)).toMatchObject([{ usage: { seconds: 0.2 } }])
  })

  it('hold for audio that came before them, in which nothing is detected', async () => {
    const client = await openRealtime()
    client.append(audio)
    client.append(audio)
    expect(client.requests).toEqual([])
    client.update({ format: { type: 'audio/pcm', rate: 16_000 }, turn_detection: null })
    client.append(audio)
    client.send('input_audio_buffer.commit')
    expect(client.requests[0]).toMatchObject({ sampleRateHz: 16_000 })
    expect(client.of(completed)).toMatchObject([{ usage: { seconds: 0.45 } }])
  })

  it('are those of the address for a client that sends none', async () => {
    const client = await openRealtime()
    for (let count = 0; count < 25; count += 1) client.append(audio)
    expect(client.audio()).toHaveLength(25 * audio.length)
    const short = await openRealtime({ texts: ['good'] })
    short.append(audio)
    short.send('input_audio_buffer.commit')
    expect(short.of(completed)).toMatchObject([{ transcript: 'good', usage: { seconds: 0.1 } }])
    const cleared = await openRealtime()
    cleared.append(audio)
    cleared.send('input_audio_buffer.clear')
    cleared.send('input_audio_buffer.commit')
    expect(cleared.of('error')).toMatchObject([{ error: { code: 'input_audio_buffer_commit_empty' } }])
  })

  it('must name a model before a megabyte of audio', async () => {
    const client = await openRealtime({ query: '' })
    for (let count = 0; count < 3; count += 1) client.append(new Uint8Array(500_000))
    expect(client.requests).toEqual([])
    expect(client.of('error')).toMatchObject([{ error: { code: 'missing_required_parameter' } }])
  })

  it.each([
    ['?intent=translation', 'invalid_value'],
    ['?api=1', 'unknown_parameter'],
    ['?model=absent', 'model_not_found'],
  ])('are refused before the socket opens with %s', async (query, code) => {
    await expect(openRealtime({ query })).rejects.toMatchObject({ code })
  })
})
