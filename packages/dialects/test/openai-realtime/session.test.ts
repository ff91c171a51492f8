import { describe, expect, it } from 'vitest'
import { decodeALaw, decodeMuLaw } from '../../../../src/audio/g711.js'
import { bytesOf } from '../../../../src/audio/pcm.js'
import { completed, delta, failed, openRealtime, type Event, type Script } from './realtime-client.js'

/** 100 ms at 24 kHz. */
const audio = Uint8Array.from({ length: 4_800 }, (_, at) => at % 251)

const byCommits = async (script?: Script) => {
  const client = await openRealtime(script)
  client.update({ turn_detection: null })
  return client
}

const bySpeech = async (script?: Script) => {
  const client = await openRealtime(script)
  client.update({ turn_detection: { type: 'server_vad' } })
  return client
}

describe('a session whose client commits', () => {
  it('has one item for each commit, with the text of all segments', async () => {
    const client = await byCommits({ texts: ['good', ' evening'] })
    client.append(audio)
    client.send('input_audio_buffer.commit')
    client.append(audio)
    client.send('input_audio_buffer.commit')
    const [first, second] = client.of(completed)
    expect(client.of(completed)).toHaveLength(2)
    expect(first).toMatchObject({
      content_index: 0,
      transcript: 'good evening',
      usage: { type: 'duration', seconds: 0.1 },
    })
    expect(client.of('input_audio_buffer.committed')).toMatchObject([
      { item_id: first?.['item_id'], previous_item_id: null },
      { item_id: second?.['item_id'], previous_item_id: first?.['item_id'] },
    ])
    expect(client.types().slice(0, 8)).toEqual([
      'session.created',
      'session.updated',
      'input_audio_buffer.committed',
      'conversation.item.added',
      delta,
      delta,
      completed,
      'conversation.item.done',
    ])
    expect(new Set(client.events.map((event) => event['event_id'])).size).toBe(client.events.length)
    expect(client.audio()).toEqual(Buffer.concat([audio, audio]))
  })

  const partial = (text: string, stableLength: number) =>
    ({ message: 'partial-result', text, stableLength, startMs: 0, endMs: 50 }) as const

  it('sends definitive text only with a long delay, each part once', async () => {
    const client = await openRealtime()
    client.update({ turn_detection: null, transcription: { delay: 'high' } })
    client.append(audio)
    client.tell(partial('good evening all', 12))
    client.tell({ message: 'milestone-result', text: 'Good evening, all.', startMs: 0, endMs: 60 })
    client.tell({ message: 'milestone-result', text: ' How are you?', startMs: 60, endMs: 90 })
    client.send('input_audio_buffer.commit')
    expect(client.of(delta).map((event) => event['delta'])).toEqual(['Good evening, all.', ' How are you?'])
    expect(client.of(completed)).toMatchObject([{ transcript: 'Good evening, all. How are you?' }])
    expect(client.types()).not.toContain('input_audio_buffer.speech_started')
  })

  it('sends words as soon as they stay, none twice and none left out', async () => {
    const client = await byCommits()
    client.append(audio)
    client.tell(partial('good', 0))
    client.tell(partial('good even', 4))
    client.tell(partial('good even', 4))
    client.tell(partial('good evening all', 12))
    client.tell({ message: 'milestone-result', text: 'good evening all of you', startMs: 0, endMs: 60 })
    client.tell(partial('how are', 7))
    client.tell({ message: 'milestone-result', text: ' How are you?', startMs: 60, endMs: 90 })
    client.tell(partial('fine then', 9))
    client.tell({ message: 'milestone-result', text: ' Fine.', startMs: 90, endMs: 95 })
    client.tell(partial('i think twenty', 7))
    client.tell({ message: 'milestone-result', text: ' I, uh, think: 20 now.', startMs: 95, endMs: 99 })
    client.tell(partial('twenty one', 10))
    client.tell({ message: 'milestone-result', text: ' 2 1 again.', startMs: 99, endMs: 100 })
    client.send('input_audio_buffer.commit')
    expect(client.of(delta).map((event) => event['delta'])).toEqual([
      'good',
      ' evening',
      ' all of you',
      ' how are',
      ' you?',
      ' fine then',
      ' i think',
      ' 20 now.',
      ' twenty one',
      ' again.',
    ])
    expect(client.of(completed)).toMatchObject([
      { transcript: 'good evening all of you How are you? Fine. I, uh, think: 20 now. 2 1 again.' },
    ])
  })

  it('reads no further message before the item is complete, and loses none', async () => {
    const client = await byCommits({ isSlow: true })
    client.append(audio)
    client.send('input_audio_buffer.commit')
    client.append(audio)
    client.send('input_audio_buffer.commit')
    expect(client.audio()).toHaveLength(audio.length)
    client.final()
    expect(client.audio()).toHaveLength(2 * audio.length)
    expect(client.of(completed)).toHaveLength(1)
    client.final()
    expect(client.of(completed)).toHaveLength(2)
  })

  it.each([1, 3, 7, 160, 479, 480])('joins audio that is cut into %i bytes', async (length) => {
    const client = await byCommits()
    const short = audio.subarray(0, 480)
    for (let at = 0; at < short.length; at += length) client.append(short.subarray(at, at + length))
    client.send('input_audio_buffer.commit')
    expect(client.audio()).toEqual(Buffer.from(short))
    expect(client.of(completed)).toMatchObject([{ usage: { seconds: 0.01 } }])
  })

  it.each([
    ['audio/pcmu', decodeMuLaw],
    ['audio/pcma', decodeALaw],
  ] as const)('reads %s', async (type, decode) => {
    const client = await openRealtime()
    client.update({ format: { type }, turn_detection: null })
    client.append(audio)
    client.send('input_audio_buffer.commit')
    expect(client.requests[0]).toMatchObject({ sampleRateHz: 8_000 })
    expect(client.audio()).toEqual(Buffer.from(bytesOf(decode(audio))))
    expect(client.of(completed)).toMatchObject([{ usage: { seconds: 0.6 } }])
  })

  it('refuses to commit nothing, as does one that has just committed or cleared', async () => {
    const client = await byCommits()
    client.send('input_audio_buffer.commit', { event_id: 'c1' })
    client.append(audio)
    client.send('input_audio_buffer.commit')
    client.send('input_audio_buffer.commit', { event_id: 'c2' })
    client.append(audio)
    client.send('input_audio_buffer.clear')
    client.append(new Uint8Array())
    client.send('input_audio_buffer.commit', { event_id: 'c3' })
    expect(client.of('error').map(({ error }) => error)).toMatchObject(
      ['c1', 'c2', 'c3'].map((event_id) => ({ code: 'input_audio_buffer_commit_empty', event_id })),
    )
    expect(client.of(completed)).toHaveLength(1)
    expect(client.of('input_audio_buffer.cleared')).toHaveLength(1)
  })

  it('drops the text of audio that is cleared', async () => {
    const client = await byCommits({ texts: ['dropped'] })
    client.append(audio)
    client.send('input_audio_buffer.clear')
    expect(client.of(delta, completed, 'input_audio_buffer.committed')).toEqual([])
    client.append(audio)
    client.send('input_audio_buffer.commit')
    expect(client.of(completed)).toHaveLength(1)
  })

  it('continues an item when the recognizer ends a recognition, because it was silent', async () => {
    const client = await byCommits()
    client.append(audio)
    client.tell({ message: 'milestone-result', text: 'good', startMs: 0, endMs: 60 })
    client.final()
    expect(client.of(completed)).toEqual([])
    client.append(audio)
    client.tell({ message: 'milestone-result', text: 'evening', startMs: 0, endMs: 60 })
    client.send('input_audio_buffer.commit')
    expect(client.of(completed)).toMatchObject([{ transcript: 'good evening', usage: { seconds: 0.2 } }])
    client.append(audio)
    client.final()
    client.send('input_audio_buffer.commit')
    expect(client.of(completed)[1]).toMatchObject({ transcript: '' })
  })

  it('fails when a recognition ends before all of its audio', async () => {
    const client = await byCommits({ isSlow: true })
    client.append(audio)
    client.send('input_audio_buffer.commit')
    client.final(50)
    expect(client.of(failed)).toMatchObject([{ error: { code: 'going_away' } }])
    expect(client.log).toContain('socket ended: going-away')
  })
})

describe('a session whose service divides the audio', () => {
  const speech = (name: 'Speech Started' | 'Speech Ended' | 'SR No Match', startMs: number, endMs = startMs) =>
    ({ message: 'event', name, startMs, endMs }) as const

  it('has one item for each segment, whose beginning it reports at once', async () => {
    const client = await bySpeech()
    client.append(audio)
    client.tell(speech('Speech Started', 20))
    client.tell({ message: 'partial-result', text: 'good', stableLength: 4, startMs: 20, endMs: 50 })
    client.tell(speech('Speech Ended', 20, 60))
    client.tell({ message: 'milestone-result', text: 'good evening', startMs: 20, endMs: 60 })
    client.tell(speech('Speech Started', 70))
    client.tell(speech('Speech Ended', 70, 90))
    client.tell({ message: 'milestone-result', text: ' all', startMs: 70, endMs: 90 })
    expect(client.types().slice(2)).toEqual(
      [
        ['input_audio_buffer.speech_started', delta],
        ['input_audio_buffer.speech_stopped', 'input_audio_buffer.committed', 'conversation.item.added'],
        [delta, completed, 'conversation.item.done'],
        ['input_audio_buffer.speech_started', 'input_audio_buffer.speech_stopped'],
        ['input_audio_buffer.committed', 'conversation.item.added', delta, completed, 'conversation.item.done'],
      ].flat(),
    )
    expect(client.of('input_audio_buffer.speech_started')[1]).toMatchObject({ audio_start_ms: 70 })
    expect(client.of(completed)).toMatchObject([
      { transcript: 'good evening', usage: { seconds: 0.04 } },
      { transcript: 'all', usage: { seconds: 0.02 } },
    ])
  })

  it('has an item without text for speech that is none', async () => {
    const client = await bySpeech()
    client.append(audio)
    client.tell(speech('Speech Started', 20))
    client.tell(speech('Speech Ended', 20, 60))
    client.tell(speech('SR No Match', 20, 60))
    expect(client.of(completed)).toMatchObject([{ transcript: '' }])
    client.tell(speech('SR No Match', 70, 80))
    expect(client.of(completed)).toHaveLength(1)
  })

  it('has several items for a segment that is decided in parts, in their order', async () => {
    const client = await bySpeech()
    client.append(audio)
    client.tell(speech('Speech Started', 0))
    client.tell({ message: 'milestone-result', text: 'one', startMs: 0, endMs: 30 })
    client.tell(speech('Speech Ended', 0, 60))
    client.tell(speech('Speech Started', 70))
    client.tell({ message: 'milestone-result', text: ' two', startMs: 30, endMs: 60 })
    client.tell(speech('Speech Ended', 70, 90))
    client.tell({ message: 'milestone-result', text: ' three', startMs: 70, endMs: 90 })
    expect(client.of(completed).map(({ transcript }) => transcript)).toEqual(['one', 'two', 'three'])
    expect(client.of('input_audio_buffer.speech_started')).toHaveLength(3)
    expect(client.of('input_audio_buffer.speech_stopped')).toHaveLength(3)
    const committed = client.of('input_audio_buffer.committed')
    expect(committed.map((event) => event['previous_item_id'])).toEqual([
      null,
      ...committed.slice(0, 2).map((event) => event['item_id']),
    ])
  })

  it('lets its client end the open segment', async () => {
    const client = await bySpeech({ texts: ['good'] })
    client.append(audio)
    client.tell(speech('Speech Started', 20))
    client.send('input_audio_buffer.commit')
    expect(client.of(completed)).toMatchObject([{ transcript: 'good' }])
    expect(client.types()).toContain('input_audio_buffer.speech_stopped')
    client.append(audio)
    client.tell(speech('Speech Started', 10))
    expect(client.of('input_audio_buffer.speech_started')[1]).toMatchObject({ audio_start_ms: 110 })
  })

  it('has no text of speech that is cleared, and that of the item before', async () => {
    const client = await bySpeech({ isSlow: true })
    client.append(audio)
    client.tell(speech('Speech Started', 0))
    client.tell(speech('Speech Ended', 0, 40))
    client.tell(speech('Speech Started', 50))
    client.send('input_audio_buffer.clear')
    client.tell({ message: 'milestone-result', text: 'kept', startMs: 0, endMs: 40 })
    client.tell({ message: 'milestone-result', text: ' dropped', startMs: 50, endMs: 90 })
    client.final()
    expect(client.of(completed)).toMatchObject([{ transcript: 'kept' }])
    expect(client.types().at(-1)).toBe('input_audio_buffer.cleared')
  })
})

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

describe('the items of a session', () => {
  it('can be retrieved and deleted, the last hundred', async () => {
    const client = await byCommits({ texts: ['good'], requestBurst: 1_000 })
    for (let count = 0; count < 101; count += 1) {
      client.append(audio)
      client.send('input_audio_buffer.commit')
    }
    const ids = client.of(completed).map((event) => event['item_id'])
    const [forgotten, item_id] = ids
    client.send('conversation.item.retrieve', { item_id })
    expect(client.of('conversation.item.retrieved')).toMatchObject([
      {
        item: {
          id: item_id,
          role: 'user',
          status: 'completed',
          content: [{ type: 'input_audio', transcript: 'good' }],
        },
      },
    ])
    client.send('conversation.item.delete', { item_id })
    client.send('conversation.item.retrieve', { item_id })
    client.send('conversation.item.retrieve', { item_id: forgotten })
    expect(client.of('conversation.item.deleted')).toMatchObject([{ item_id }])
    expect(client.of('error')).toMatchObject([
      { error: { code: 'item_not_found' } },
      { error: { code: 'item_not_found' } },
    ])
  })
})

describe('the end of a session', () => {
  it('fails open items and says why before it closes', async () => {
    const client = await byCommits({ isSlow: true })
    client.append(audio)
    client.send('input_audio_buffer.commit')
    client.far.close({ code: 'engine-failed', message: 'The engine has failed.' })
    const error = { type: 'server_error', code: 'engine_failed', message: 'The engine has failed.' }
    expect(client.events.slice(-2)).toMatchObject([
      { type: failed, content_index: 0, error },
      { type: 'error', error },
    ])
    expect(client.log).toContain('socket ended: engine-failed')
  })

  it('has its final results, and that of a service that closes', async () => {
    const client = await byCommits({ texts: ['good'] })
    client.append(audio)
    client.send('input_audio_buffer.commit')
    client.far.close({ code: 'going-away', message: 'The service is closing.' })
    expect(client.of(failed)).toEqual([])
    expect(client.of('error')).toMatchObject([{ error: { code: 'going_away' } }])
    expect(client.log).toContain('socket ended: going-away')
  })

  it('is a normal one after a silence that is too long', async () => {
    const client = await byCommits()
    client.far.close()
    expect(client.of('error')).toMatchObject([{ error: { code: 'session_expired' } }])
    expect(client.log).toContain('socket ended')
  })

  it('closes the conversation when the client leaves, and when the service ends it', async () => {
    const left = await byCommits()
    left.page.close()
    expect(left.log).toContain('conversation closed')
    const ended = await byCommits()
    ended.serving.unsubscribe()
    expect(ended.log).toContain('conversation closed')
    expect(ended.log).toContain('socket ended: going-away')
  })

  it('comes for a client that sends what cannot be read, again and again', async () => {
    const client = await openRealtime()
    for (let count = 0; count < 300; count += 1) client.page.send('{')
    expect(client.log).toContain('socket ended: invalid-field')
    expect(client.of('error').length).toBeLessThan(210)
    expect(client.of('error').map(({ error }) => (error as Event)['code'])).toEqual(
      expect.arrayContaining(['invalid_message', 'too_many_requests']),
    )
  })

  it('comes for a client that does not read', async () => {
    const client = await openRealtime()
    client.page.pause()
    client.append(audio)
    client.tell({ message: 'milestone-result', text: 'a'.repeat(900_000), startMs: 0, endMs: 1 })
    client.tell({ message: 'milestone-result', text: 'b'.repeat(900_000), startMs: 1, endMs: 2 })
    expect(client.log).toContain('conversation closed')
    client.page.resume()
    expect(client.log).toContain('socket ended: overloaded')
  })

  it('comes for a client that makes too many requests', async () => {
    const client = await openRealtime()
    for (let count = 0; count < 300; count += 1) client.update({})
    expect(client.log).toContain('socket ended: too-many-requests')
    expect(client.of('session.updated')).toHaveLength(100)
  })
})

describe('a session', () => {
  it('stops to read audio that the recognizer does not take, and continues', async () => {
    const client = await bySpeech({ links: { highWaterMarkBytes: 10_000, lowWaterMarkBytes: 5_000 } })
    client.append(audio)
    client.far.pause()
    for (let count = 0; count < 10; count += 1) client.append(audio)
    expect(client.page.isCongested).toBe(true)
    client.far.resume()
    expect(client.page.isCongested).toBe(false)
    expect(client.audio()).toHaveLength(11 * audio.length)
  })

  it('handles a client that answers within an event in order', async () => {
    const client = await byCommits({ texts: ['good'] })
    client.onEvent(({ type }) => {
      if (type !== completed || client.of(completed).length > 3) return
      client.append(audio)
      client.send('input_audio_buffer.commit')
    })
    client.append(audio)
    client.send('input_audio_buffer.commit')
    expect(client.of(completed)).toHaveLength(4)
    expect(client.types().filter((type) => type !== 'conversation.item.done')).toEqual(
      [
        ['session.created', 'session.updated'],
        ...Array.from({ length: 4 }, () => [
          'input_audio_buffer.committed',
          'conversation.item.added',
          delta,
          completed,
        ]),
      ].flat(),
    )
    expect(client.events.map((event) => event['event_id'])).toEqual(client.events.map((_, at) => `event_${at + 1}`))
  })

  it('reports a text once it can be sent', async () => {
    const client = await openRealtime()
    client.page.send(Uint8Array.of(1, 2))
    client.page.send('[]')
    client.send('input_audio_buffer.append', { audio: '*', event_id: 'e' })
    client.send('hello')
    expect(client.of('error').map(({ error }) => error)).toMatchObject([
      { code: 'invalid_message' },
      { code: 'invalid_message' },
      { code: 'invalid_audio', param: 'audio', event_id: 'e' },
      { code: 'invalid_value', param: 'type' },
    ])
  })
})
