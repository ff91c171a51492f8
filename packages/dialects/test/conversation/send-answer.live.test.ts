import { expect, it } from 'vitest'
import { sendAnswer } from '../../src/conversation/send-answer.js'
import { withUnreadResponse } from './unread-response.js'

it('an answer that its client does not read ends with its connection', () =>
  withUnreadResponse(async (response) => {
    await sendAnswer(response, { contentType: 'text/plain', body: 'a'.repeat(16 * 1_048_576) }, 50)
    expect(response.destroyed).toBe(true)
  }))
