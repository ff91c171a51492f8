import { describe, expect, it } from 'vitest'
import { decodeALaw, decodeMuLaw } from '../../../../src/audio/g711.js'
import { bytesOf } from '../../../../src/audio/pcm.js'
import { audio, byCommits, completed, delta, failed, openRealtime } from './realtime-client.js'

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
