import { describe, expect, it } from 'vitest'
import { audio, bySpeech, completed, delta } from './realtime-client.js'

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
