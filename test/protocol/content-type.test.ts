import { expect, it } from 'vitest'
import { contentType } from '../../src/protocol/content-type.js'

it('numbers the kinds of message as service.md 2.4 does', () => {
  expect(contentType).toStrictEqual({ audio: 0, event: 1, request: 2, response: 3 })
})
