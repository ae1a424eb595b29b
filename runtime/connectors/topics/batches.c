/* Takes records from a queue of librdkafka without an object of Python for each, for `batch_client.py`. Records of one
   partition that follow each other are a run: one text, a record a line, if none of them needs a closer look.

   It is compiled without librdkafka: the caller gives the addresses of two functions of the library that the client of
   Kafka has loaded. Anybody may have written the records, so no number in them is followed: a record has the length that
   the library gives. */

#define Py_LIMITED_API 0x030B0000 /* as `alike.c` */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

/* `rd_kafka_message_t` of rdkafka.h, which has been the same since 2013. */
struct message {
    int error;
    void *topic;
    int32_t partition;
    const uint8_t *value; /* NULL for none; the reason of an error */
    size_t length;
    void *key;
    size_t key_length;
    int64_t offset;
    void *private;
};

typedef Py_ssize_t consume_batch(void *queue, int milliseconds, struct message **messages, size_t most);
typedef void destroy_message(struct message *message);

/* Tells whether a value is a line as it is: it is there, has no control characters (line breaks, frames of registries,
   binary records), and does not begin as lines that are looked at. */
static int is_plain(const struct message *message, const uint8_t *odd, size_t odd_length)
{
    const uint64_t ones = 0x0101010101010101, high = 0x8080808080808080;
    const uint8_t *at = message->value, *end = at + message->length;
    if (at == NULL || (message->length >= odd_length && memcmp(at, odd, odd_length) == 0)) return 0;
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        if ((word - ones * ' ') & ~word & high) break;
    }
    for (; at < end; at++)
        if (*at < ' ') return 0;
    return 1;
}

static PyObject *text_of(struct message *const *messages, Py_ssize_t count, Py_ssize_t size)
{
    PyObject *text = PyBytes_FromStringAndSize(NULL, size);
    char *to = text == NULL ? NULL : PyBytes_AsString(text);
    for (Py_ssize_t n = 0; to != NULL && n < count; n++) {
        if (n) *to++ = '\n';
        memcpy(to, messages[n]->value, messages[n]->length);
        to += messages[n]->length;
    }
    return text;
}

static PyObject *values_of(struct message *const *messages, Py_ssize_t count)
{
    PyObject *values = PyList_New(count);
    for (Py_ssize_t n = 0; values != NULL && n < count; n++) {
        const struct message *message = messages[n];
        PyObject *value = message->value == NULL
                              ? Py_NewRef(Py_None)
                              : PyBytes_FromStringAndSize((const char *)message->value, (Py_ssize_t)message->length);
        if (value == NULL) Py_CLEAR(values);
        else PyList_SetItem(values, n, value);
    }
    return values;
}

static PyObject *offsets_of(struct message *const *messages, Py_ssize_t count)
{
    PyObject *offsets = PyBytes_FromStringAndSize(NULL, 8 * count);
    char *to = offsets == NULL ? NULL : PyBytes_AsString(offsets);
    for (Py_ssize_t n = 0; to != NULL && n < count; n++) memcpy(to + 8 * n, &messages[n]->offset, 8);
    return offsets;
}

/* Returns the run at the begin of some messages: (partition, first offset, last offset, offsets or None if they count up,
   text or values). An error is a run of its own: (partition, offset, offset, reason or None, number of the error).
   `count`: how many messages it has. */
static PyObject *run_of(struct message *const *messages, Py_ssize_t most, const uint8_t *odd, size_t odd_length,
                        Py_ssize_t *count)
{
    const struct message *first = messages[0];
    Py_ssize_t n = 0, size = -1;
    int are_plain = 1;
    *count = 1;
    if (first->error)
        return Py_BuildValue("iLLy#i", (int)first->partition, (long long)first->offset, (long long)first->offset,
                             (const char *)first->value, (Py_ssize_t)first->length, first->error);
    for (; n < most && !messages[n]->error && messages[n]->partition == first->partition; n++) {
        are_plain = are_plain && is_plain(messages[n], odd, odd_length);
        size += (Py_ssize_t)messages[n]->length + 1;
    }
    *count = n;
    const int64_t last = messages[n - 1]->offset;
    PyObject *offsets = last - first->offset == n - 1 ? Py_NewRef(Py_None) : offsets_of(messages, n);
    PyObject *content = are_plain ? text_of(messages, n, size) : values_of(messages, n);
    if (offsets == NULL || content == NULL) {
        Py_XDECREF(offsets), Py_XDECREF(content);
        return NULL;
    }
    return Py_BuildValue("iLLNN", (int)first->partition, (long long)first->offset, (long long)last, offsets, content);
}

/* take(consume, destroy, queue, milliseconds, most, odd): the runs of the next messages, at most so many, and whether
   the library could be asked. */
static PyObject *take(PyObject *module, PyObject *arguments)
{
    unsigned long long consume, destroy, queue;
    int milliseconds;
    Py_ssize_t most, got = 0, count;
    Py_buffer odd;
    if (!PyArg_ParseTuple(arguments, "KKKiny*", &consume, &destroy, &queue, &milliseconds, &most, &odd)) return NULL;
    struct message **messages = PyMem_Malloc(most * sizeof *messages);
    PyObject *runs = PyList_New(0);
    if (messages != NULL && runs != NULL) {
        Py_BEGIN_ALLOW_THREADS
        got = ((consume_batch *)(uintptr_t)consume)((void *)(uintptr_t)queue, milliseconds, messages, (size_t)most);
        Py_END_ALLOW_THREADS
        for (Py_ssize_t at = 0; runs != NULL && at < got; at += count) {
            PyObject *run = run_of(messages + at, got - at, odd.buf, (size_t)odd.len, &count);
            if (run == NULL || PyList_Append(runs, run) < 0) Py_CLEAR(runs);
            Py_XDECREF(run);
        }
        for (Py_ssize_t at = 0; at < got; at++) ((destroy_message *)(uintptr_t)destroy)(messages[at]);
    }
    PyBuffer_Release(&odd);
    if (messages == NULL) {
        Py_XDECREF(runs);
        return PyErr_NoMemory();
    }
    PyMem_Free(messages);
    return runs == NULL ? NULL : Py_BuildValue("NN", runs, PyBool_FromLong(got >= 0));
}

static PyMethodDef FUNCTIONS[] = {{"take", take, METH_VARARGS, NULL}, {NULL, NULL, 0, NULL}};
static PyModuleDef MODULE = {PyModuleDef_HEAD_INIT, "_batches", NULL, 0, FUNCTIONS, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__batches(void) { return PyModuleDef_Init(&MODULE); }
