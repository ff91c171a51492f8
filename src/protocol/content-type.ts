/** What a message of the dataflow stream is (service.md 2.4). `AUDIO` is the proto default: a message with none reads as audio. */
export const contentType = { audio: 0, event: 1, request: 2, response: 3 } as const
