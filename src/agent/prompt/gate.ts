/** For a new conversation only: a title, and nothing else. */
export const titlePrompt = `You give a new conversation its title. Read the user's first message and answer in two channels:

<channel:thinking>One short sentence.</channel:thinking>
<channel:output>{"conversation_title": "at most six words, in the user's language"}</channel:output>

Do not answer the message itself. When there is nothing to name, the title is null.`
