import { once } from 'node:events'
import { expect, it } from 'vitest'
import { streamTranscription } from '../../src/openai-transcriptions/event-stream.js'
import { withUnreadResponse } from '../conversation/unread-response.js'

it('events that their client stops to read end with its connection, while further ones come', () =>
  withUnreadResponse(async (response) => {
    const streamed = streamTranscription(
      response,
      async ({ milestone }) => {
        milestone({ text: 'a'.repeat(16 * 1_048_576), channel: 0 })
        const further = setInterval(() => milestone({ text: 'a', channel: 0 }), 10)
        await once(response, 'close')
        clearInterval(further)
        throw new Error('The client has left.')
      },
      50,
    )
    await expect(streamed).rejects.toThrow('The client has left.')
  }))
